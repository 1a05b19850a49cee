import ArgumentParser
import Foundation
import Holdfast
import HoldfastTerminal

struct ConnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Open a WebSocket and talk through it.",
        discussion: """
            At a terminal there is a prompt with editing and history: Enter sends the line, Control-C on an empty line or \
            Control-D closes. Text from the other side cannot control the terminal.

            When standard input is not a terminal, every line is a message. After the end of the input, the tool continues to \
            receive until nothing has arrived for --wait seconds, and then closes with 1000. Messages go to standard output \
            unmarked and unchanged, everything else to standard error.

            \(Outcome.table)
            """)

    @Argument(help: ArgumentHelp("ws://host:port/path, wss://… or ws+unix:/socket:/path", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @OptionGroup(title: "Connection") var connection: ConnectionOptions
    @OptionGroup(title: "Display") var display: DisplayOptions

    @Option(
        name: [.customShort("x"), .long],
        help: ArgumentHelp("Send this text instead of reading standard input; repeatable.", valueName: "text"))
    var execute: [String] = []

    @Option(
        name: [.short, .long],
        help: ArgumentHelp("How long to wait for silence after the last line before closing, or 'forever'.", valueName: "seconds"))
    var wait = Patience.quiet(.seconds(1))

    @Option(help: ArgumentHelp("Send a ping this often and print its round trip.", valueName: "seconds"))
    var ping: Seconds?

    @Flag(help: "Show messages, bytes and round trips each second at a terminal, and a summary at the end; sends a ping each second.")
    var stats = false

    @Flag(name: [.short, .long], help: "Reconnect after a lost connection, with growing pauses.")
    var reconnect = false

    func validate() throws {
        try connection.validate(for: url)
        if let ping, ping.duration < .milliseconds(10) { throw ValidationError("--ping: at least 0.01 seconds.") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let isInteractive =
            execute.isEmpty && StandardInput.isTerminal && StandardOutput.isTerminal && environment["TERM"] != "dumb"
        let session = ConnectSession(
            url: url, configuration: try connection.configuration(for: url, environment: environment), isReconnecting: reconnect,
            source: isInteractive ? .prompt : execute.isEmpty ? .standardInput : .texts(execute), patience: wait, pingEvery: ping?.duration,
            showsStatistics: stats, console: display.console(isInteractive: isInteractive, environment: environment))
        connection.warnIfInsecure()
        let outcome = await session.run()
        if outcome != .clean { throw outcome.code }
    }
}

/// One run of `connect`: sends lines and prints messages, until one side ends it.
struct ConnectSession: Sendable {
    let url: WebSocketURL
    let configuration: WebSocketConfiguration
    let isReconnecting: Bool
    let source: LineInput.Source
    let patience: Patience
    let pingEvery: Duration?
    /// Whether statistics are shown, live and at the end.
    let showsStatistics: Bool
    let console: Console

    /// Connects, talks and closes; the first signal closes with 1001, a second one kills the process.
    func run() async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await converse() }
            group.addTask { await Signals.firstEnding() }
            var outcome = Outcome.failed
            if let first = await group.next(), let first { outcome = first }
            group.cancelAll()
            await group.waitForAll()
            await console.close()
            return outcome
        }
    }

    private func converse() async -> Outcome {
        do throws(WebSocketError) {
            let link = try await Link.open(url, configuration, isReconnecting: isReconnecting, console: console)
            if case .prompt = source { await console.open() }
            guard showsStatistics else { return await exchange(over: link, nil) }
            let gauge = LinkGauge(link)
            let outcome = await exchange(over: link, gauge)
            await gauge.sumUp(console)
            return outcome
        } catch {
            if error.code != .cancelled { await console.note(error) }
            return Outcome(error)
        }
    }

    private enum Finished: Sendable {
        case receiving(Outcome)
        case speaking(Outcome?)
        case other
    }

    private func exchange(over link: Link, _ gauge: LinkGauge?) async -> Outcome {
        await withTaskGroup(of: Finished.self) { group in
            group.addTask { .receiving(await link.receive(console, from: url)) }
            group.addTask { .speaking(await speak(over: link)) }
            if let pingEvery = pingEvery ?? gauge.map({ _ in .seconds(1) }) {
                group.addTask { await ping(over: link, every: pingEvery, gauge) }
            }
            if let gauge, console.showsStatus { group.addTask { await follow(gauge) } }
            if case .prompt = source { group.addTask { await followWindow() } }
            // Both end when the connection does, in any order.
            var (problem, ending): (Outcome?, Outcome?)
            for await finished in group {
                switch finished {
                case .receiving(let outcome):
                    group.cancelAll()
                    ending = outcome
                case .speaking(let outcome): problem = outcome
                case .other: break
                }
            }
            return problem ?? ending ?? .failed
        }
    }

    private func follow(_ gauge: LinkGauge) async -> Finished {
        await gauge.follow(console)
        return .other
    }

    private func ping(over link: Link, every interval: Duration, _ gauge: LinkGauge?) async -> Finished {
        while (try? await Task.sleep(for: interval)) != nil {
            do throws(WebSocketError) {
                guard let roundTrip = try await link.ping() else { continue }
                await gauge?.roundTrip(roundTrip)
                // Without --ping, pings are only for the statistics.
                if pingEvery != nil { await console.note("pong after \(roundTrip.phrase)", .dim) }
            } catch {
                if error.code == .timedOut { await console.note("no pong in time", .bad) }
            }
        }
        return .other
    }

    private func followWindow() async -> Finished {
        for await _ in Signals.stream(of: [Signals.windowChange]) { await console.windowChanged() }
        return .other
    }

    /// Sends the lines of the source, then closes; returns an outcome only if the source itself failed.
    ///
    /// A connection that fails while sending is not reported here, because the receiving side gets the same failure with more detail.
    func speak(over link: Link) async -> Outcome? {
        let outcome = await LineInput(source: source, console: console).forEach { line in
            do throws(WebSocketError) {
                try await link.send(.text(line))
            } catch {
                if error.code == .timedOut { await console.note("not sent: \(error)", .bad) }
            }
        }
        if case .prompt = source {} else { await patience.pass(on: console) }
        if !Task.isCancelled { await link.close() }
        return outcome
    }
}

/// How long to continue receiving after the last line was sent.
enum Patience: Hashable, Sendable, ExpressibleByArgument, CustomStringConvertible {
    /// Until nothing has arrived for this long.
    case quiet(Duration)
    /// Until the peer closes, or a signal arrives.
    case forever

    /// Parses seconds, or `forever`.
    init?(argument: String) {
        if argument == "forever" {
            self = .forever
        } else if let seconds = Seconds(argument: argument) {
            self = .quiet(seconds.duration)
        } else {
            return nil
        }
    }

    /// Waits until it is over, or the task is cancelled.
    func pass(on console: Console) async {
        guard case .quiet(let quiet) = self else {
            try? await Task.sleep(for: .seconds(1 << 32))
            return
        }
        var end = ContinuousClock.now + quiet
        while end > .now {
            guard (try? await Task.sleep(until: end)) != nil else { return }
            if let last = await console.lastReceived { end = max(end, last + quiet) }
        }
    }

    /// The value as written on the command line, for the help.
    var description: String {
        switch self {
        case .quiet(let duration): duration.phrase
        case .forever: "forever"
        }
    }
}
