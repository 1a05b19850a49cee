import Foundation
import HoldfastQuotes
package import HoldfastTerminal
import QuotesCore

/// The table of quotes on the screen: its rows and its scroll position.
package struct Board: Sendable {
    private let title: String
    private let style: Style
    /// The maximum number of rows, however high the terminal is.
    private let mostRows: Int
    /// The rows in the order in which they were first shown.
    private var rows: [BoardRow] = []
    private var places: [String: Int] = [:]
    /// The indices of the rows ordered by name; shorter than `rows` when rows were added.
    private var order: [Int] = []
    private var top = 0
    private var height = 24

    package init(title: String, mostRows: Int = .max, style: Style) {
        (self.title, self.mostRows, self.style) = (title, mostRows, style)
    }

    /// Shows the newest quote of a symbol.
    mutating func show(_ quote: Quote) {
        if let place = places[quote.symbol] {
            if rows[place].quote != quote { rows[place].show(quote) }
        } else {
            places[quote.symbol] = rows.count
            rows.append(BoardRow(quote))
        }
    }

    /// Removes a symbol.
    mutating func remove(_ symbol: String) {
        guard let place = places.removeValue(forKey: symbol) else { return }
        rows.remove(at: place)
        order = []
        for later in place..<rows.count { places[rows[later].quote.symbol] = later }
    }

    /// Moves all sparklines on by one column.
    mutating func sample() { for place in rows.indices { rows[place].sample() } }

    /// Processes a key; returns false if it ends the board.
    mutating func press(_ key: Key) -> Bool {
        switch key {
        case .text("q"), .text("Q"), .control("c"), .control("d"): return false
        case .up, .text("k"): scroll(by: -1)
        case .down, .text("j"): scroll(by: 1)
        case .left, .text("b"): scroll(by: -page)
        case .right, .text(" "): scroll(by: page)
        case .home: top = 0
        case .end: scroll(by: rows.count)
        default: break
        }
        return true
    }

    /// The number of symbols.
    var count: Int { rows.count }

    /// Returns all lines of a picture of this size; no line is wider than `columns` if there are at least 20.
    mutating func lines(_ figures: BoardFigures, ticksPerSecond: Int, columns: Int, height: Int) -> [String] {
        self.height = height
        scroll(by: 0)
        if order.count < rows.count { order = rows.indices.sorted { rows[$0].quote.symbol < rows[$1].quote.symbol } }
        let shown = order.dropFirst(top).prefix(page).map { rows[$0] }
        let standing = style.paint(figures.standing.name, figures.standing == .connected ? .good : .bad)
        var lines = [
            Self.cut(title, columns - figures.standing.name.count - 2) + "  " + standing,
            style.paint(Self.cut(Self.figures(figures, ticksPerSecond), columns), .dim),
            style.paint(BoardRow.heading(columns: columns), .prompt),
        ]
        lines += shown.map { $0.text(columns: columns, style) }
        let range = shown.isEmpty ? "no quotes yet" : "\(top + 1) to \(top + shown.count) of \(rows.count)"
        lines.append(style.paint(Self.cut("\(range)   arrows scroll, q ends", columns), .dim))
        return lines
    }

    private var page: Int { max(1, min(mostRows, height - 4)) }

    private mutating func scroll(by count: Int) { top = max(0, min(top + count, rows.count - page)) }

    private static func figures(_ figures: BoardFigures, _ ticksPerSecond: Int) -> String {
        let parts = [
            "\(ticksPerSecond.grouped) ticks/s", figures.roundTrip.map { "rtt \($0.phrase)" }, "\(figures.conflated.grouped) conflated",
            figures.gaps.counted("gap"), figures.resyncs.counted("resync"),
            figures.stale > 0 ? "\(figures.stale) stale" : nil, figures.garbage > 0 ? "\(figures.garbage) garbage" : nil,
            figures.connections > 1 ? figures.connections.counted("connection") : nil,
        ]
        return parts.compactMap(\.self).joined(separator: "  ")
    }

    private static func cut(_ text: String, _ columns: Int) -> String { String(text.prefix(max(0, columns))) }
}

/// One symbol on the board.
struct BoardRow: Hashable, Sendable {
    enum Direction: Hashable, Sendable { case up, down, none }

    private(set) var quote: Quote
    /// The first price seen, from which the change is counted.
    private let base: Int64
    private(set) var direction = Direction.none
    private(set) var history = Sparkline()

    init(_ quote: Quote) {
        (self.quote, base) = (quote, quote.last)
        history.append(quote.last)
    }

    /// Shows the newest quote.
    mutating func show(_ new: Quote) {
        if new.last != quote.last { direction = new.last > quote.last ? .up : .down }
        quote = new
    }

    /// Moves the sparkline on by one column.
    mutating func sample() { history.append(quote.last) }

    private var isCurrent: Bool { quote.isCurrent }

    /// Returns the row as text, at most `columns` wide: cells that do not fit are left out from the right.
    func text(columns: Int, _ style: Style) -> String {
        let way = Price.change(of: quote.last, from: base)
        let colour: Style.Part? =
            switch direction {
            case _ where !isCurrent: .dim
            case .up: .good
            case .down: .bad
            case .none: nil
            }
        let cells: [(text: String, width: Int, part: Style.Part?)] = [
            (quote.symbol, -9, isCurrent ? nil : .dim), (arrow + Price.text(quote.last), 12, colour),
            (way, 11, isCurrent ? (quote.last == base ? nil : quote.last > base ? .good : .bad) : .dim),
            (Price.text(quote.bid), 12, isCurrent ? nil : .dim), (Price.text(quote.ask), 12, isCurrent ? nil : .dim),
            (Int(quote.volume).grouped, 14, .dim),
        ]
        var (line, left) = ("", columns)
        for cell in cells where left >= abs(cell.width) {
            let text = cell.width < 0 ? cell.text.paddedRight(to: -cell.width) : cell.text.paddedLeft(to: cell.width)
            line += cell.part.map { style.paint(text, $0) } ?? text
            left -= max(abs(cell.width), text.count)
        }
        let spark = history.text(columns: min(left - 2, Sparkline.capacity))
        return spark.isEmpty ? line : line + "  " + (colour.map { style.paint(spark, $0) } ?? spark)
    }

    private var arrow: String {
        switch direction {
        case .up: "▲ "
        case .down: "▼ "
        case .none: "  "
        }
    }

    /// Returns the heading above the rows.
    static func heading(columns: Int) -> String {
        let cells = [("SYMBOL", -9), ("LAST", 12), ("CHANGE", 11), ("BID", 12), ("ASK", 12), ("VOLUME", 14)]
        var (line, left) = ("", columns)
        for (name, width) in cells where left >= abs(width) {
            line += width < 0 ? name.paddedRight(to: -width) : name.paddedLeft(to: width)
            left -= abs(width)
        }
        return line
    }
}

/// Owns the board and the terminal that it is drawn on.
actor BoardScreen {
    private var board: Board
    private var decoder = KeyDecoder()
    private var rate = TickRate()
    private var sampledAt = ContinuousClock.now
    private var last: [String] = []
    private static let sampleEvery = Duration.milliseconds(500)

    init(_ board: Board) { self.board = board }

    /// Takes over the screen; returns false if standard input is not a terminal.
    func open() -> Bool { RawMode.enter(for: .screen) }

    /// Restores the terminal.
    func close() { RawMode.leave() }

    /// Applies an update for the next picture.
    func take(_ update: QuoteUpdate) {
        for quote in update.quotes { board.show(quote) }
        for symbol in update.removed { board.remove(symbol) }
    }

    /// Draws the board if anything has changed.
    func draw(_ figures: BoardFigures) {
        let now = ContinuousClock.now
        rate.note(figures.ticks, at: now)
        if now - sampledAt >= Self.sampleEvery {
            board.sample()
            sampledAt = now
        }
        let size = ScreenPicture.size
        let lines = board.lines(figures, ticksPerSecond: rate.perSecond, columns: size.columns, height: size.rows)
        guard lines != last else { return }
        last = lines
        StandardOutput.write(ScreenPicture.drawing(lines))
    }

    /// Processes typed bytes; returns false if they end the board.
    func type(_ bytes: [UInt8]) -> Bool {
        for key in decoder.decode(bytes) {
            if key == .control("z") {
                RawMode.leave()
                Signals.suspendProcess()
                _ = open()
                last = []
            } else if !board.press(key) {
                return false
            }
        }
        return true
    }
}

/// Formats prices of the quotes protocol, which are in ten-thousandths.
enum Price {
    /// Formats a price with two decimals, or four if needed: `189.50`, `0.7312`.
    static func text(_ price: Int64) -> String {
        let (whole, part) = price.magnitude.quotientAndRemainder(dividingBy: 10_000)
        let digits = part.isMultiple(of: 100) ? padded(part / 100, 2) : padded(part, 4)
        return "\(price < 0 ? "-" : "")\(whole).\(digits)"
    }

    /// Formats the change from `base` to `price` in percent, with two decimals and a sign: `+0.31 %`; empty without a base.
    static func change(of price: Int64, from base: Int64) -> String {
        guard base > 0 else { return "" }
        // A peer may report a change that is too large for an integer.
        let hundredths = Int64(min(Double(price - base) / Double(base) * 10_000, 0x1p53).rounded())
        let (whole, part) = hundredths.magnitude.quotientAndRemainder(dividingBy: 100)
        return "\(hundredths < 0 ? "-" : "+")\(whole).\(padded(part, 2)) %"
    }

    private static func padded(_ number: UInt64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

/// The last prices of a symbol, drawn in one row of text.
struct Sparkline: Hashable, Sendable {
    /// The number of prices to keep.
    static let capacity = 32
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    private var prices: [Int64] = []

    mutating func append(_ price: Int64) {
        if prices.count == Self.capacity { prices.removeFirst() }
        prices.append(price)
    }

    /// Returns the newest prices, one per column, from the lowest (▁) to the highest (█) of them; a flat line is low.
    func text(columns: Int) -> String {
        let shown = prices.suffix(max(0, columns))
        guard let least = shown.min(), let greatest = shown.max() else { return "" }
        let span = Double(greatest - least)
        return String(
            shown.map { price in
                guard span > 0 else { return Self.bars[0] }
                return Self.bars[Int((Double(price - least) / span * Double(Self.bars.count - 1)).rounded())]
            })
    }
}

/// Calculates the ticks per second from a counter that only grows.
struct TickRate: Sendable {
    private static let window = Duration.seconds(1)

    private var since: (count: Int, time: ContinuousClock.Instant)?
    /// The rate over the last whole second.
    private(set) var perSecond = 0

    mutating func note(_ count: Int, at now: ContinuousClock.Instant) {
        guard let since else { return self.since = (count, now) }
        let span = now - since.time
        guard span >= Self.window else { return }
        perSecond = Int((Double(count - since.count) / (span / .seconds(1))).rounded())
        self.since = (count, now)
    }
}
