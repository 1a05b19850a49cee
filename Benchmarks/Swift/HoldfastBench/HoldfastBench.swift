import Holdfast
import HoldfastServer
import Measure
import NIOCore

/// The measured server and client of Holdfast, with each API of an app.
@main
enum HoldfastBench {
    static func main() async {
        // One event loop for all peers. SwiftNIO would count the machine's cores instead of the allowed ones.
        NIOSingletons.groupLoopCountSuggestion = 1
        do { try await run() } catch { Workload.fail("\(error)") }
    }

    private static func run() async throws {
        let words = CommandLine.arguments.dropFirst()
        let rest = words.dropFirst()
        switch (words.first, Workload(rest), rest.first.flatMap { Int($0) }) {
        case ("echo", _, let port?): try await EchoServer(port: port, handlers: .eventLoop).run()
        case ("echo-pool", _, let port?): try await EchoServer(port: port, handlers: .pool).run()
        case ("echo-inline", _, let port?): try await EchoServer(port: port, handlers: .eventLoop).runInline()
        case ("client", let workload?, _): print(try await Client(workload).runOnEventLoop())
        case ("client-pool", let workload?, _): print(try await Client(workload).runOnPool())
        case ("client-batches", let workload?, _) where workload.mode == .receive: print(try await Client(workload).runInBatches())
        case ("client-inline", let workload?, _): try await InlineClient.run(workload)
        default:
            Workload.fail(
                """
                usage: HoldfastBench echo|echo-pool|echo-inline PORT
                       HoldfastBench client|client-pool|client-inline ping|receive|send PORT SIZE COUNT
                       HoldfastBench client-batches receive PORT SIZE COUNT
                """)
        }
    }
}
