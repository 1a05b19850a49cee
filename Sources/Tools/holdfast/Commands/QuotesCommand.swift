import ArgumentParser
import Foundation
import Holdfast
import HoldfastMarket
import HoldfastQuotes
import HoldfastTerminal
import QuotesCore

struct QuotesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quotes",
        abstract: "Watch the quotes of a market, live.",
        discussion: """
            Shows the quotes of 'holdfast serve quotes', or of any server with the protocol in docs/quotes-protocol.md. At a terminal \
            there is a board: prices with their direction, the change since the board began, the rate, the round trip, and the numbers of \
            conflated and lost updates. It survives lost connections: quotes that are not current are dim. Arrows scroll, q or Control-C \
            ends.

            With a pipe, or with --plain, it prints the changed quotes as lines, every --every seconds.

            EXAMPLE:
              holdfast quotes ws://localhost:9001/feed 'BANK*' SAIL

            \(Outcome.table)
            """)

    @Argument(help: ArgumentHelp("ws://host:port/feed or wss://…", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @Argument(help: ArgumentHelp("The symbols to show; * matches any characters, ? matches one (default: all).", valueName: "symbol"))
    var symbols: [String] = []

    @Option(help: "The encoding of quotes (default: msgpack, or one that the server has).")
    var encoding: QuotesEncoding?

    @Option(help: ArgumentHelp("Request at most this many updates per second, 1 to 1000.", valueName: "rate"))
    var rate: Int?

    @Option(help: ArgumentHelp("The maximum number of rows to show.", valueName: "rows"))
    var rows: Int?

    @Option(name: .customLong("for"), help: ArgumentHelp("How long to watch (default: until you end it).", valueName: "seconds"))
    var duration: Seconds?

    @Flag(help: "Print lines instead of a board.")
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
            throw ValidationError("\"\(symbol.escapedOnOneLine)\" is not a symbol: use 1 to 32 ASCII characters, without spaces.")
        }
        if symbols.count > QuotesLimits.patterns { throw ValidationError("at most \(QuotesLimits.patterns) symbols; use a pattern.") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        var connecting = try connection.configuration(for: url, environment: environment)
        connection.warnIfInsecure()
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

    /// Returns the display; a board needs a terminal with keys.
    private func display(_ environment: [String: String]) -> QuotesSession.Display {
        let isBoard = !plain && !json && StandardInput.isTerminal && StandardOutput.isTerminal && environment["TERM"] != "dumb"
        guard isBoard else { return .lines(QuoteLines(isJSON: json), every: every.duration) }
        let style = Style(isTerminal: true, environment: environment)
        return .screen(Board(title: "\(url)", mostRows: rows ?? .max, style: style))
    }
}
