import QuotesCore

/// One symbol on the board.
struct BoardRow: Hashable, Sendable {
    enum Direction: Hashable, Sendable { case up, down, none }

    private(set) var quote: Quote
    /// What the change counts from: the first price seen.
    private let base: Int64
    private(set) var direction = Direction.none
    private(set) var history = Sparkline()

    init(_ quote: Quote) {
        (self.quote, base) = (quote, quote.last)
        history.append(quote.last)
    }

    /// Takes the newest quote.
    mutating func show(_ new: Quote) {
        if new.last != quote.last { direction = new.last > quote.last ? .up : .down }
        quote = new
    }

    /// Lets the sparkline go on by one column.
    mutating func sample() { history.append(quote.last) }

    private var isCurrent: Bool { quote.isCurrent }

    /// The row as text, at most `columns` wide: what does not fit is left out from the right.
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

    /// What stands above the rows.
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
