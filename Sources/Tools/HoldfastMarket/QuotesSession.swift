import Holdfast
package import HoldfastQuotes
package import HoldfastTerminal
import QuotesCore
import WebSocketRuntime

/// One run of `quotes`: shows the quotes of the feed until somebody ends it.
package struct QuotesSession: Sendable {
    /// The way quotes are displayed.
    package enum Display: Sendable {
        /// On the whole screen, with keys.
        case screen(Board)
        /// As lines for the changed quotes, at this interval.
        case lines(QuoteLines, every: Duration)
    }

    private let feed: QuoteFeed
    private let display: Display
    private let duration: Duration?
    private let noteStyle: Style
    private let input = StandardInput()
    private let figures = LockedValue(BoardFigures())
    /// The reason why there is no connection, which is printed after the board has closed.
    private let problem = LockedValue<WebSocketError?>(nil)

    private static let framesPerSecond = 30

    package init(_ feed: QuoteFeed, _ display: Display, duration: Duration?, noteStyle: Style) {
        (self.feed, self.display, self.duration, self.noteStyle) = (feed, display, duration, noteStyle)
    }

    /// Shows quotes until a key, a signal, the time limit, or the end of the feed.
    package func run() async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask { await follow() }
            group.addTask { await ping() }
            group.addTask { await show() }
            group.addTask { await Signals.firstEnding() }
            if let duration { group.addTask { (try? await Task.sleep(for: duration)) == nil ? nil : .clean } }
            var outcome: Outcome?
            while outcome == nil, let next = await group.next() { outcome = next }
            group.cancelAll()
            await group.waitForAll()
            return await end(outcome ?? .failed)
        }
    }

    /// Closes the feed, and prints a summary.
    private func end(_ outcome: Outcome) async -> Outcome {
        let (figures, symbols) = (present, feed.quotes.count)
        await feed.close()
        StandardOutput.warn(noteStyle.paint("* " + figures.summary(symbols: symbols), .note))
        guard let problem = problem.withLockedValue({ $0 }) else { return outcome }
        for line in problem.lines { StandardOutput.warn(noteStyle.paint("* " + line, .bad)) }
        return outcome == .clean && figures.connections == 0 ? Outcome(problem) : outcome
    }

    /// The current figures.
    private var present: BoardFigures {
        let counts = feed.counts
        return figures.withLockedValue { figures in
            figures.count(counts)
            return figures
        }
    }

    /// Follows the state of the connection, until it is over.
    private func follow() async -> Outcome? {
        for await state in feed.socket.states {
            figures.withLockedValue { $0.standing = BoardFigures.Standing(state) }
            switch state {
            case .waiting(_, let cause): problem.withLockedValue { $0 = cause }
            case .connected: problem.withLockedValue { $0 = nil }
            case .closed(let error):
                guard let error else { return .clean }
                problem.withLockedValue { $0 = error }
                return Outcome(error)
            case .disconnected, .connecting, .held, .closing: break
            }
        }
        return nil
    }

    private func ping() async -> Outcome? {
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let roundTrip = try? await feed.socket.ping()
            figures.withLockedValue { $0.roundTrip = roundTrip }
        }
        return nil
    }

    private func show() async -> Outcome? {
        switch display {
        case .screen(let board): return await show(on: BoardScreen(board))
        case .lines(var lines, let interval):
            while (try? await Task.sleep(for: interval)) != nil {
                StandardOutput.write(lines.lines(feed.quotes).map { $0 + "\n" }.joined())
            }
            return nil
        }
    }

    private func show(on screen: BoardScreen) async -> Outcome? {
        guard await screen.open() else { return .failed }
        let outcome = await withTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                for await update in feed.updates(atMost: Self.framesPerSecond) { await screen.take(update) }
                return nil
            }
            group.addTask {
                while (try? await Task.sleep(for: .seconds(1) / Self.framesPerSecond)) != nil { await screen.draw(present) }
                return nil
            }
            group.addTask {
                while let bytes = await input.read() {
                    guard await screen.type(bytes) else { return .clean }
                }
                return Task.isCancelled ? nil : .clean
            }
            var outcome: Outcome?
            while outcome == nil, let next = await group.next() { outcome = next }
            group.cancelAll()
            await group.waitForAll()
            return outcome
        }
        await screen.close()
        return outcome
    }
}

extension BoardFigures.Standing {
    init(_ state: WebSocketState) {
        self =
            switch state {
            case .disconnected, .connecting: .connecting
            case .connected: .connected
            case .waiting, .held: .waiting
            case .closing, .closed: .ended
            }
    }
}

/// The figures of the feed that the board shows above the quotes.
struct BoardFigures: Hashable, Sendable {
    /// The state of the connection.
    enum Standing: Hashable, Sendable {
        case connecting
        case connected
        case waiting
        case ended

        var name: String {
            switch self {
            case .connecting: "connecting"
            case .connected: "connected"
            case .waiting: "lost, trying again"
            case .ended: "ended"
            }
        }
    }

    var standing = Standing.connecting
    var connections = 0
    var ticks = 0
    var conflated = 0
    var gaps = 0
    var resyncs = 0
    var stale = 0
    var garbage = 0
    var roundTrip: Duration?

    /// Returns a summary on one line.
    func summary(symbols: Int) -> String {
        let parts = [
            "\(ticks.grouped) \(ticks == 1 ? "tick" : "ticks") of \(symbols.counted("symbol"))", connections.counted("connection"),
            "\(conflated.grouped) conflated", gaps.counted("gap"), resyncs.counted("resync"), "\(stale) stale", "\(garbage) garbage",
        ]
        return parts.joined(separator: ", ")
    }

    /// Copies the counts of the feed.
    mutating func count(_ counts: QuoteCounts) {
        // The server reports the number of conflated quotes.
        (connections, ticks, conflated) = (Int(counts.connections), Int(counts.ticks), Int(clamping: counts.conflated))
        (gaps, resyncs, stale, garbage) = (Int(counts.gaps), Int(counts.resyncs), Int(counts.stale), Int(counts.garbage))
    }
}

/// Formats quotes as lines of text or JSON, for pipes: those that have changed since the last call.
package struct QuoteLines: Sendable {
    private let isJSON: Bool
    private var told: [String: Quote] = [:]

    package init(isJSON: Bool) { self.isJSON = isJSON }

    /// Returns a line for each changed quote, in the given order.
    mutating func lines(_ quotes: [Quote]) -> [String] {
        quotes.compactMap { quote in
            guard told[quote.symbol] != quote else { return nil }
            defer { told[quote.symbol] = quote }
            return isJSON ? Self.json(quote) : Self.text(quote)
        }
    }

    private static func text(_ quote: Quote) -> String {
        let prices = [quote.last, quote.bid, quote.ask].map { Price.text($0).paddedLeft(to: 12) }.joined()
        let volume = Int(quote.volume).grouped.paddedLeft(to: 14)
        return quote.symbol.paddedRight(to: 9) + prices + volume + (quote.isCurrent ? "" : "  old")
    }

    /// Symbol names need no escaping: see docs/quotes-protocol.md.
    private static func json(_ quote: Quote) -> String {
        #"{"symbol":"\#(quote.symbol)","version":\#(quote.version),"bid":\#(Price.text(quote.bid)),"ask":\#(Price.text(quote.ask)),"#
            + #""last":\#(Price.text(quote.last)),"volume":\#(quote.volume),"time":\#(quote.time),"current":\#(quote.isCurrent)}"#
    }
}
