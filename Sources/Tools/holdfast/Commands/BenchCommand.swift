import ArgumentParser
import Foundation
import Holdfast

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure how fast a server echoes.",
        discussion: """
            Opens connections to a server that sends every message back, keeps messages in flight on each for --duration, and \
            prints latencies, throughput and errors. Every reply must have the kind and length of its message and come in its turn.

            Without --rate every reply lets the next message go (a closed loop): that finds the most a server can do, but a server \
            that pauses is not asked meanwhile, and looks better than its users find it. With --rate messages leave on a schedule, \
            and a latency counts from when its message was due, late or not (corrected for coordinated omission).

            holdfast bench --serve serves such an echo until a signal comes; it takes --port, --max-message, --no-compression and \
            --quiet.

            Control-C ends the measurement and prints what was measured by then. With wrong, disordered or missing replies the \
            exit status is 1.

            \(Outcome.table)
            """)

    @Argument(help: ArgumentHelp("ws://host:port/path or wss://… of an echo server", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL?

    @Flag(help: "Serve an echo to be measured, instead of measuring one.")
    var serve = false

    @Option(name: [.short, .long], help: "With --serve: the port to listen on; 0 for any free one (default: 9001).")
    var port: Int?

    @Option(name: .shortAndLong, help: "How many connections, at most \(BenchPlan.mostConnections).")
    var connections = 10

    @Option(help: "The most messages in flight on each connection (default: 1; with --rate 1024, or what fits into 1 GiB).")
    var depth: Int?

    @Option(help: ArgumentHelp("The length of every message, such as 0, 32, 64K or 1M.", valueName: "bytes"))
    var size = PayloadSize(bytes: 32)

    @Flag(help: "What the messages are.")
    var kind = PayloadKind.binary

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Messages per second of all connections together, on a schedule.", valueName: "rate"))
    var rate: Double?

    @Option(help: ArgumentHelp("How long to run before measuring.", valueName: "seconds"))
    var warmUp = Seconds(.seconds(1))

    @Option(help: ArgumentHelp("How long to measure.", valueName: "seconds"))
    var duration = Seconds(.seconds(10))

    @Option(
        help: ArgumentHelp("How long to wait for replies after the end; what has not come then is lost.", valueName: "seconds"))
    var wait = Seconds(.seconds(5))

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @Flag(help: "Print the result as JSON.")
    var json = false

    @Flag(name: [.short, .long], help: "Print the result and errors only.")
    var quiet = false

    func validate() throws {
        if serve {
            if url != nil { throw ValidationError("a URL and --serve exclude each other.") }
            if let port, !(0...65535 ~= port) { throw ValidationError("--port: \(port) is not a port; use 0 to 65535.") }
            if let option = measuringOption { throw ValidationError("\(option) is for measuring; --serve only answers.") }
        } else {
            guard let url else { throw ValidationError("give the URL of an echo server, or --serve to be one.") }
            if port != nil { throw ValidationError("--port is for --serve; a server to be measured has its port in the URL.") }
            try connection.validate(for: url)
            _ = try plan()
            if let most = connection.maxMessage, most.bytes < size.bytes {
                throw ValidationError("--max-message: the replies will be larger, see --size.")
            }
        }
    }

    func run() async throws {
        guard let url else { return try await serveEcho() }
        let plan = try plan()
        let room = OpenFiles.makeRoom(forConnections: connections)
        guard room >= connections else {
            throw ValidationError("--connections: this process may open \(room) at most; see 'ulimit -n'.")
        }
        let environment = ProcessInfo.processInfo.environment
        let errorStyle = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
        let isWatched = isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb" && !quiet
        if connection.insecure {
            StandardOutput.warn("WARNING: --insecure: the server's certificate is NOT checked.")
            StandardOutput.warn("WARNING: anyone on the way can read and change what is sent, secrets included.")
        }
        let session = BenchSession(
            url: url, configuration: try configuration(for: url, plan, environment: environment), plan: plan, isJSON: json,
            live: isWatched ? LiveLine(style: errorStyle) : nil,
            style: Style(isTerminal: StandardOutput.isTerminal, environment: environment), errorStyle: errorStyle)
        let outcome = await session.run()
        if outcome != .clean { throw outcome.code }
    }

    /// An option that was given and says something about measuring only.
    private var measuringOption: String? {
        let given = [
            ("--connections", connections != 10), ("--depth", depth != nil), ("--size", size.bytes != 32), ("--text", kind != .binary),
            ("--rate", rate != nil), ("--warm-up", warmUp.duration != .seconds(1)), ("--duration", duration.duration != .seconds(10)),
            ("--wait", wait.duration != .seconds(5)), ("--json", json),
        ]
        return given.first(where: \.1)?.0
    }

    private func plan() throws -> BenchPlan {
        do throws(BenchPlan.Problem) {
            return try BenchPlan(
                connections: connections, depth: depth, kind: kind, size: size.bytes, rate: rate, warmUp: warmUp.duration,
                duration: duration.duration, wait: wait.duration)
        } catch {
            throw ValidationError(error.description)
        }
    }

    private func configuration(for url: WebSocketURL, _ plan: BenchPlan, environment: [String: String]) throws -> WebSocketConfiguration {
        var configuration = try connection.configuration(for: url, environment: environment)
        configuration.limits.message = max(configuration.limits.message, plan.payload.size)
        // All that may be in flight fits, twice over, so that sending never waits and a latency is the server's.
        configuration.limits.sendBuffer = max(configuration.limits.sendBuffer, 2 * plan.depth * (plan.payload.size + 64))
        configuration.timeouts.close = .seconds(2)
        return configuration
    }

    /// The server of `serve echo`, with room for what a benchmark may send.
    private func serveEcho() async throws {
        _ = OpenFiles.makeRoom(forConnections: BenchPlan.mostConnections)
        let maxMessage = connection.maxMessage?.bytes ?? BenchPlan.mostSize
        let arguments =
            ["--port", String(port ?? 9001), "--max-message", String(maxMessage)]
            + (connection.noCompression ? ["--no-compression"] : []) + (quiet ? ["--quiet"] : [])
        try await ServeEchoCommand.parse(arguments).run()
    }
}
