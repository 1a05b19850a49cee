import ArgumentParser
import Foundation
import QuotesCore

struct ServeQuotesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quotes",
        abstract: "Serve a made-up but lively market.",
        discussion: """
            Quotes of hundreds of symbols, as JSON, MessagePack or Protocol Buffers: what a client offers first. A client \
            subscribes by symbol or pattern, gets a snapshot and then what changes; a slow one gets the newest of each symbol, and no \
            backlog. The protocol is in docs/quotes-protocol.md.

            'holdfast quotes' shows the market in a terminal, and a browser does at http://127.0.0.1:9001/quotes.

            The same --seed, --symbols and --rate give the same ticks, but for the time in them. The URL goes to standard output once the \
            server listens, everything else to standard error. SIGINT (Control-C) and SIGTERM close every connection with 1001 and end the server \
            with status 0.
            """)

    @OptionGroup var serve: ServeOptions
    @OptionGroup var messages: ServeMessageOptions

    @Option(help: "How many symbols, 1 to \(MarketPlan.symbolCounts.upperBound).")
    var symbols = 500

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Ticks per second, all symbols together; at most \(Market.beatsPerSecond) for each symbol.", valueName: "rate"))
    var rate = 2000

    @Option(help: "What all chance follows from (default: drawn, and printed).")
    var seed: UInt64?

    @Flag(
        inversion: .prefixedNo,
        help: "Openings, news and quiet times, that change the rate from a quarter to four times; without, the rate is exact.")
    var bursts = true

    @Option(
        help: ArgumentHelp("Drop this share of the tick messages, from 0 to 1, so that clients have gaps to find.", valueName: "share"))
    var drop = 0.0

    func validate() throws {
        guard MarketPlan.symbolCounts ~= symbols else {
            throw ValidationError("--symbols: use \(MarketPlan.symbolCounts.lowerBound) to \(MarketPlan.symbolCounts.upperBound).")
        }
        let highest = MarketPlan.highestRate(symbols: symbols)
        guard 1...highest ~= rate else {
            throw ValidationError("--rate: \(symbols.counted("symbol")) can have 1 to \(highest) ticks per second; see --symbols.")
        }
        guard 0...1 ~= drop else { throw ValidationError("--drop: a share is from 0 to 1.") }
    }

    func run() async throws {
        let seed = seed ?? .random(in: 0...UInt64(UInt32.max))
        let opening = Int64(Date().timeIntervalSince1970 * 1000)
        let floor = MarketFloor(
            MarketPlan(symbols: symbols, rate: rate, seed: seed, mood: bursts ? .lively : .calm, opening: opening))
        let development = DevelopmentServer(serve, messages, path: "/feed")
        let server = QuotesServer(floor: floor, drop: drop, seed: seed, log: development.log)
        development.log.note("\(symbols.counted("symbol")), \(rate.grouped) ticks/s, seed \(seed)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await floor.run() }
            defer { group.cancelAll() }
            try await development.run { server.server($0) }
        }
    }
}
