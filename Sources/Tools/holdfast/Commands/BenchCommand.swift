import ArgumentParser
import Foundation
import Holdfast
import HoldfastTerminal

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure how fast a server echoes.",
        discussion: """
            Opens connections to a server that sends every message back, keeps messages in flight on each for --duration, and \
            prints latencies, throughput and errors. Every reply must have the kind and length of its message, and arrive in order.

            Without --rate, every reply triggers the next message (a closed loop). This finds the maximum throughput of a server, but \
            a server that pauses gets no messages in the meantime, and looks better than it is for its users. With --rate, messages \
            are sent on a schedule, and a latency counts from when its message was due (corrected for coordinated omission).

            holdfast bench --serve runs such an echo server until a signal arrives; it accepts --port, --max-message, \
            --no-compression and --quiet.

            Control-C ends the measurement and prints the results so far. With wrong, disordered or missing replies the exit \
            status is 1.

            \(Outcome.table)
            """)

    @Argument(help: ArgumentHelp("ws://host:port/path or wss://… of an echo server", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL?

    @Flag(help: "Run an echo server to measure, instead of measuring one.")
    var serve = false

    @Option(name: [.short, .long], help: "With --serve: the port to listen on; 0 for any free one (default: 9001).")
    var port: Int?

    @Option(name: .shortAndLong, help: "The number of connections, at most \(BenchPlan.mostConnections).")
    var connections = 10

    @Option(help: "The maximum number of messages in flight on each connection (default: 1; with --rate 1024, or what fits into 1 GiB).")
    var depth: Int?

    @Option(help: ArgumentHelp("The length of every message, such as 0, 32, 64K or 1M.", valueName: "bytes"))
    var size = PayloadSize(bytes: 32)

    @Flag(help: "The kind of the messages.")
    var kind = PayloadKind.binary

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Messages per second over all connections, on a schedule.", valueName: "rate"))
    var rate: Double?

    @Option(help: ArgumentHelp("How long to run before measuring.", valueName: "seconds"))
    var warmUp = Seconds(.seconds(1))

    @Option(help: ArgumentHelp("How long to measure.", valueName: "seconds"))
    var duration = Seconds(.seconds(10))

    @Option(
        help: ArgumentHelp("How long to wait for replies after the end; later ones count as lost.", valueName: "seconds"))
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
            if let option = measuringOption { throw ValidationError("\(option) is only for measuring, not for --serve.") }
        } else {
            guard let url else { throw ValidationError("give the URL of an echo server, or --serve to run one.") }
            if port != nil { throw ValidationError("--port is for --serve; to measure a server, put its port into the URL.") }
            try connection.validate(for: url)
            _ = try plan()
            if let most = connection.maxMessage, most.bytes < size.bytes {
                throw ValidationError("--max-message: the replies are larger, see --size.")
            }
        }
    }

    func run() async throws {
        guard let url else { return try await serveEcho() }
        let plan = try plan()
        let room = OpenFiles.makeRoom(forConnections: connections)
        guard room >= connections else {
            throw ValidationError("--connections: this process can open at most \(room); see 'ulimit -n'.")
        }
        let environment = ProcessInfo.processInfo.environment
        let errorStyle = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
        let isWatched = isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb" && !quiet
        connection.warnIfInsecure()
        let session = BenchSession(
            url: url, configuration: try configuration(for: url, plan, environment: environment), plan: plan, isJSON: json,
            live: isWatched ? LiveLine(style: errorStyle) : nil,
            style: Style(isTerminal: StandardOutput.isTerminal, environment: environment), errorStyle: errorStyle)
        let outcome = await session.run()
        if outcome != .clean { throw outcome.code }
    }

    /// The first given option that only applies to measuring.
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
        // The buffer holds everything in flight twice, so that sending never waits and a latency is only the server's.
        configuration.limits.sendBuffer = max(configuration.limits.sendBuffer, 2 * plan.depth * (plan.payload.size + 64))
        configuration.timeouts.close = .seconds(2)
        return configuration
    }

    /// Runs the server of `serve echo`, with limits that suit a benchmark.
    private func serveEcho() async throws {
        _ = OpenFiles.makeRoom(forConnections: BenchPlan.mostConnections)
        let maxMessage = connection.maxMessage?.bytes ?? BenchPlan.mostSize
        let arguments =
            ["--port", String(port ?? 9001), "--max-message", String(maxMessage)]
            + (connection.noCompression ? ["--no-compression"] : []) + (quiet ? ["--quiet"] : [])
        try await ServeEchoCommand.parse(arguments).run()
    }
}

/// The parameters of a benchmark.
struct BenchPlan: Hashable, Sendable {
    static let mostConnections = 10_000
    static let mostDepth = 65_536
    static let mostSize = 64 << 20
    static let mostRate = 10_000_000.0
    /// The maximum number of bytes in flight over all connections.
    static let mostInFlight = 1 << 30

    /// The reason why a plan is invalid.
    struct Problem: Error, Hashable, CustomStringConvertible { let description: String }

    let connections: Int
    /// The maximum number of messages in flight on each connection.
    let depth: Int
    let payload: BenchPayload
    /// Messages per second in total; nil: as fast as the replies come.
    let rate: Double?
    let warmUp: Duration
    let duration: Duration
    /// How long to wait for replies after the end.
    let wait: Duration

    /// Creates a plan; the default depth is one message, or with a rate as many as may be needed to keep it.
    init(
        connections: Int, depth: Int?, kind: PayloadKind, size: Int, rate: Double?, warmUp: Duration, duration: Duration, wait: Duration
    ) throws(Problem) {
        guard 1...Self.mostConnections ~= connections else {
            throw Problem(description: "--connections: use 1 to \(Self.mostConnections).")
        }
        guard 0...Self.mostSize ~= size else { throw Problem(description: "--size: use 0 to \(Self.mostSize) bytes (64M).") }
        if let rate, !(rate > 0 && rate <= Self.mostRate) {
            throw Problem(description: "--rate: use more than 0, and at most \(Int(Self.mostRate)) messages per second.")
        }
        let affordable = Self.mostInFlight / (connections * max(size, 1))
        let depth = depth ?? (rate == nil ? 1 : max(1, min(1024, affordable)))
        guard 1...Self.mostDepth ~= depth else { throw Problem(description: "--depth: use 1 to \(Self.mostDepth).") }
        guard depth <= affordable else {
            throw Problem(description: "connections × depth × size is more than 1 GiB in flight; use less of one of them.")
        }
        guard duration > .zero else { throw Problem(description: "--duration: use more than 0 seconds.") }
        (self.connections, self.depth, self.rate) = (connections, depth, rate)
        payload = BenchPayload(kind: kind, size: size)
        (self.warmUp, self.duration, self.wait) = (warmUp, duration, wait)
    }

    /// The time after which no message is sent, counted from the start.
    var end: Duration { warmUp + duration }

    /// Returns whether events at this time are measured.
    func isMeasured(_ time: Duration) -> Bool { time >= warmUp && time < end }

    func schedule(ofConnection place: Int) -> Schedule? {
        rate.map { Schedule(rate: $0, connections: connections, place: place) }
    }
}

/// One run of `bench`: connects, measures, reports, closes.
struct BenchSession: Sendable {
    /// The result of a measurement, with the connections still open.
    struct Measurement: Sendable {
        let connections: [WebSocketConnection]
        let tally: Tally
        let ends: [BenchWorker.End]
        /// The measured time, without the warm-up.
        let measured: Duration
    }

    private enum Event: Sendable {
        case measured(Result<Measurement, WebSocketError>)
        case signal(Outcome?)
    }

    let url: WebSocketURL
    let configuration: WebSocketConfiguration
    let plan: BenchPlan
    let isJSON: Bool
    /// Draws the progress line; nil if there is none.
    let live: LiveLine?
    let style: Style
    let errorStyle: Style

    /// Measures and reports.
    ///
    /// The first signal ends the measurement early and reports the result so far; a second one kills the process.
    func run() async -> Outcome {
        let (result, signal) = await withTaskGroup(of: Event.self) { group in
            group.addTask { .measured(await measure()) }
            group.addTask { .signal(await Signals.firstEnding()) }
            var result: Result<Measurement, WebSocketError>?
            var signal: Outcome?
            while let event = await group.next() {
                switch event {
                case .measured(let measured): result = measured
                case .signal(let outcome): signal = signal ?? outcome
                }
                group.cancelAll()
            }
            return (result, signal)
        }
        switch result {
        case .success(let measurement)?: return await finish(measurement, signal)
        case .failure(let error)?:
            if let signal { return signal }
            complain(error.lines)
            return Outcome(error)
        case nil: return .failed
        }
    }

    private func measure() async -> Result<Measurement, WebSocketError> {
        do throws(WebSocketError) {
            let connections = try await Lanes.open(plan.connections, to: url, configuration)
            let board = Scoreboard()
            let start = ContinuousClock.now
            let ends = await withTaskGroup(of: [BenchWorker.End]?.self) { group in
                group.addTask { await work(connections, board, start) }
                if let live {
                    group.addTask {
                        await live.follow(board, plan, start)
                        return nil
                    }
                }
                var ends: [BenchWorker.End] = []
                while let result = await group.next() {
                    guard let result else { continue }
                    ends = result
                    group.cancelAll()
                }
                return ends
            }
            let measured = max(.zero, min(start.duration(to: .now), plan.end) - plan.warmUp)
            return .success(Measurement(connections: connections, tally: await board.total(), ends: ends, measured: measured))
        } catch {
            return .failure(error)
        }
    }

    private func work(
        _ connections: [WebSocketConnection], _ board: Scoreboard, _ start: ContinuousClock.Instant
    ) async -> [BenchWorker.End] {
        await withTaskGroup(of: BenchWorker.End.self) { group in
            for (place, connection) in connections.enumerated() {
                let lane = BenchWorker(connection, place: place, plan: plan, board: board, start: start)
                group.addTask { await lane.run() }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func finish(_ measurement: Measurement, _ signal: Outcome?) async -> Outcome {
        let losses = measurement.ends.compactMap(\.loss)
        let report = BenchReport(
            url: url.string, plan: plan, tally: measurement.tally, connectionsEnded: losses.count, measured: measurement.measured,
            isCompressed: measurement.connections.contains { $0.compression != nil }, wasStopped: signal != nil)
        StandardOutput.write(isJSON ? report.json + "\n" : report.lines(style: style).joined(separator: "\n") + "\n")
        if let first = losses.first { complain(["\(losses.count.counted("connection")) ended early, the first with:"] + first.lines) }
        await Lanes.close(measurement.connections)
        if report.errors.wrong + report.errors.disordered > 0 { return .failed }
        return losses.first?.outcome ?? (report.errors.lost > 0 ? .failed : signal ?? .clean)
    }

    private func complain(_ lines: [String]) {
        for line in lines { StandardOutput.warn(errorStyle.paint("* " + line, .bad)) }
    }
}

extension BenchWorker.End {
    /// The outcome if the connection ended too early.
    var loss: (outcome: Outcome, lines: [String])? {
        switch self {
        case .finished, .stopped: nil
        case .closed(let record):
            // A clean close also came too early here.
            (Outcome(closing: record) == .clean ? .failed : Outcome(closing: record), [record.phrase])
        case .failed(let error): (Outcome(error), error.lines)
        }
    }
}
