import ArgumentParser
import Foundation
import Holdfast
import HoldfastQuotes
import QuotesCore

struct QuotesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quotes",
        abstract: "Watch the quotes of a market, live.",
        discussion: """
            Shows what 'holdfast serve quotes' serves, or any server of the protocol in docs/quotes-protocol.md. At a terminal there \
            is a board: prices with their direction, what changed since the board began, the rate, the round trip, and what was \
            conflated or lost on the way. It survives cuts: what is not current meanwhile is dim. Arrows scroll, q or Control-C ends.

            Into a pipe, or with --plain, the quotes that have changed are lines, every --every seconds.

            EXAMPLE:
              holdfast quotes ws://localhost:9001/feed 'BANK*' SAIL

            \(Outcome.table)
            """)

    @Argument(help: ArgumentHelp("ws://host:port/feed or wss://…", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @Argument(help: ArgumentHelp("What to show; * stands for any characters, ? for one (default: all).", valueName: "symbol"))
    var symbols: [String] = []

    @Option(help: "How quotes come (default: msgpack, or what the server has).")
    var encoding: QuotesEncoding?

    @Option(help: ArgumentHelp("Ask for at most so many updates per second, 1 to 1000.", valueName: "rate"))
    var rate: Int?

    @Option(help: ArgumentHelp("Show at most so many rows.", valueName: "rows"))
    var rows: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("How long to watch (default: until somebody ends it).", valueName: "seconds"))
    var duration: Seconds?

    @Flag(help: "Print lines, not a board.")
    var plain = false

    @Flag(help: "Print lines of JSON.")
    var json = false

    @Option(help: ArgumentHelp("How often lines are printed.", valueName: "seconds"))
    var every = Seconds(.seconds(1))

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws {
        try connection.validate(for: url)
        if !connection.subprotocol.isEmpty { throw ValidationError("--subprotocol: the encoding is the subprotocol; see --encoding.") }
        if let rate, !(1...1000 ~= rate) { throw ValidationError("--rate: use 1 to 1000.") }
        if let rows, rows < 1 { throw ValidationError("--rows: at least 1.") }
        if every.duration < .milliseconds(10) { throw ValidationError("--every: at least 0.01 seconds.") }
        for symbol in symbols where SymbolPattern(symbol) == nil {
            throw ValidationError("\"\(symbol.escapedOnOneLine)\" is no symbol: use 1 to 32 characters of ASCII, without spaces.")
        }
        if symbols.count > QuotesLimits.patterns { throw ValidationError("at most \(QuotesLimits.patterns) symbols; use a pattern.") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        var connecting = try connection.configuration(for: url, environment: environment)
        if connection.insecure {
            StandardOutput.warn("WARNING: --insecure: the server's certificate is NOT checked.")
            StandardOutput.warn("WARNING: anyone on the way can read and change what is sent, secrets included.")
        }
        let encodings = encoding.map { [$0] } ?? [.messagePack, .protobuf, .json]
        connecting.subprotocols = encodings.map(\.subprotocol)
        let feed = QuoteFeed(url.string, encodings: encodings, rate: rate) { [connecting] in $0.connection = connecting }
        try feed.subscribe(to: symbols.isEmpty ? ["*"] : symbols)
        let outcome = await QuotesSession(feed, display(environment), duration: duration?.duration, noteStyle: noteStyle(environment)).run()
        if outcome != .clean { throw outcome.code }
    }

    private func noteStyle(_ environment: [String: String]) -> Style {
        Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
    }

    /// A board needs a terminal with keys.
    private func display(_ environment: [String: String]) -> QuotesSession.Display {
        let isBoard = !plain && !json && StandardInput.isTerminal && StandardOutput.isTerminal && environment["TERM"] != "dumb"
        guard isBoard else { return .lines(QuoteLines(isJSON: json), every: every.duration) }
        let style = Style(isTerminal: true, environment: environment)
        return .screen(Board(title: "\(url)", mostRows: rows ?? .max, style: style))
    }
}
