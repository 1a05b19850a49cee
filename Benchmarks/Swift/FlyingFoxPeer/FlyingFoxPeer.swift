import FlyingFox
import FlyingSocks
import Foundation

/// FlyingFox as an echo server with its own handler: `FlyingFoxPeer PORT`.
///
/// It offers no option for no-delay.
@main
enum FlyingFoxPeer {
    static func main() async throws {
        guard CommandLine.arguments.count == 2, let port = UInt16(CommandLine.arguments[1]) else {
            print("usage: FlyingFoxPeer PORT")
            exit(2)
        }
        let server = try HTTPServer(address: .inet(ip4: "127.0.0.1", port: port), logger: .disabled)
        await server.appendRoute("GET /*", to: .webSocket(EchoWSMessageHandler(), frameSize: 4 << 20))
        try await server.run()
    }
}
