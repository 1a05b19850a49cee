import QuotesCore

/// The table of quotes as it is drawn: what it shows, and how far it is scrolled.
struct Board: Sendable {
    private let title: String
    private let style: Style
    /// No more rows than this, however high the terminal is.
    private let mostRows: Int
    /// In the order in which they were first shown.
    private var rows: [BoardRow] = []
    private var places: [String: Int] = [:]
    /// The places of the rows in the order of their names; shorter while there are new ones.
    private var order: [Int] = []
    private var top = 0
    private var height = 24

    init(title: String, mostRows: Int = .max, style: Style) {
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

    /// Shows a symbol no more.
    mutating func remove(_ symbol: String) {
        guard let place = places.removeValue(forKey: symbol) else { return }
        rows.remove(at: place)
        order = []
        for later in place..<rows.count { places[rows[later].quote.symbol] = later }
    }

    /// Lets all sparklines go on by one column.
    mutating func sample() { for place in rows.indices { rows[place].sample() } }

    /// Takes a key; false if it ends the board.
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

    /// How many symbols it has.
    var count: Int { rows.count }

    /// All lines of a picture of this size; none is wider than `columns`, if there are 20 at least.
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
