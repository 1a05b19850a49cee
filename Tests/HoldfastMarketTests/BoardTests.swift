import HoldfastTerminal
import QuotesCore
import Testing

@testable import HoldfastMarket

@Suite struct BoardTests {
    private func board(_ quotes: [Quote] = [], mostRows: Int = .max, style: Style = .plain) -> Board {
        quotes.reduce(into: Board(title: "ws://market/feed", mostRows: mostRows, style: style)) { $0.show($1) }
    }
    private func lines(_ board: inout Board, columns: Int = 100, height: Int = 24) -> [String] {
        board.lines(BoardFigures(standing: .connected), ticksPerSecond: 0, columns: columns, height: height)
    }
    private func symbols(_ board: inout Board, height: Int) -> [String] {
        lines(&board, height: height).dropFirst(3).dropLast().map { String($0.prefix { $0 != " " }) }
    }
    private var letters: [Quote] { "EBADC".map { quote(String($0), last: 10_000) } }

    @Test func `rows stand in the order of their names, whatever came first`() {
        var board = board(letters)
        #expect(symbols(&board, height: 24) == ["A", "B", "C", "D", "E"])
        board.show(quote("AA", last: 1))
        #expect(symbols(&board, height: 24) == ["A", "AA", "B", "C", "D", "E"])
    }

    @Test func `a symbol that is no longer shown leaves no gap, and may come back`() {
        var board = board(letters)
        _ = symbols(&board, height: 24)
        board.remove("B")
        board.remove("B")
        board.show(quote("D", last: 20_000))
        #expect(symbols(&board, height: 24) == ["A", "C", "D", "E"])
        #expect(lines(&board)[5].contains("▲ 2.00"))
        board.show(quote("B", last: 1))
        #expect(symbols(&board, height: 24) == ["A", "B", "C", "D", "E"])
    }

    @Test func `a row tells price, change, bid, ask and volume`() {
        var board = board([quote("SAIL", last: 1_000_000)])
        board.show(quote("SAIL", last: 1_010_000, bid: 1_009_900, ask: 1_010_100, volume: 1234))
        #expect(lines(&board)[2] == "SYMBOL           LAST     CHANGE         BID         ASK        VOLUME")
        #expect(lines(&board)[3] == "SAIL         ▲ 101.00    +1.00 %      100.99      101.01         1,234  ▁")
    }

    @Test func `the arrow shows the last move of the price, also while other things change`() {
        var board = board([quote("A", last: 20)])
        #expect(!lines(&board)[3].contains("▲") && !lines(&board)[3].contains("▼"))
        board.show(quote("A", last: 10))
        #expect(lines(&board)[3].contains("▼"))
        board.show(quote("A", last: 10, volume: 5))
        #expect(lines(&board)[3].contains("▼"))
        board.show(quote("A", last: 11))
        #expect(lines(&board)[3].contains("▲"))
    }

    @Test func `the sparkline goes on by one column for each sample`() {
        var board = board([quote("A", last: 10)])
        board.show(quote("A", last: 20))
        board.sample()
        board.show(quote("A", last: 15))
        board.sample()
        #expect(lines(&board)[3].hasSuffix("  ▁█▅"))
    }

    @Test func `what is not current is dim, and coloured again when it is`() {
        var board = board([quote("A", last: 10)], style: .coloured)
        board.show(quote("A", last: 20, isCurrent: false))
        #expect(!lines(&board)[3].contains("\u{1B}[32m") && lines(&board)[3].hasPrefix("\u{1B}[2mA"))
        board.show(quote("A", last: 20))
        #expect(lines(&board)[3].contains("\u{1B}[32m"))
    }

    @Test(arguments: 20...120)
    func `no line is wider than the terminal, and no picture higher`(columns: Int) {
        var board = board((0..<50).map { quote("SYMBOL.\($0)", last: Int64($0) * 1_000_000_000) })
        for _ in 0..<40 { board.sample() }
        let figures = BoardFigures(standing: .waiting, connections: 3, ticks: 5, conflated: 12_345, gaps: 2, resyncs: 2, stale: 1)
        for height in [5, 6, 24, 100] {
            let lines = board.lines(figures, ticksPerSecond: 123_456, columns: columns, height: height)
            #expect(lines.count <= height)
            #expect(lines.allSatisfy { $0.columns <= columns })
        }
    }

    @Test func `arrows scroll by rows and pages, and stop at the ends`() {
        var board = board(letters)
        #expect(symbols(&board, height: 6) == ["A", "B"])
        let steps: [(Key, [String])] = [
            (.up, ["A", "B"]), (.down, ["B", "C"]), (.right, ["D", "E"]), (.right, ["D", "E"]), (.left, ["B", "C"]), (.end, ["D", "E"]),
            (.down, ["D", "E"]), (.home, ["A", "B"]), (.text("j"), ["B", "C"]), (.text("k"), ["A", "B"]),
        ]
        for (key, shown) in steps {
            let goesOn = board.press(key)
            #expect(goesOn)
            #expect(symbols(&board, height: 6) == shown, "\(key)")
        }
    }

    @Test func `a terminal that becomes higher shows more, from the end on`() {
        var board = board(letters)
        _ = symbols(&board, height: 6)
        _ = board.press(.end)
        #expect(symbols(&board, height: 8) == ["B", "C", "D", "E"])
        #expect(symbols(&board, height: 30) == ["A", "B", "C", "D", "E"])
    }

    @Test func `no more rows are shown than were asked for`() {
        var board = board(letters, mostRows: 3)
        #expect(symbols(&board, height: 40) == ["A", "B", "C"])
        #expect(lines(&board).last == "1 to 3 of 5   arrows scroll, q ends")
    }

    @Test(arguments: [Key.text("q"), .control("c"), .control("d")])
    func `q, Control-C and Control-D end it`(key: Key) {
        var board = board(letters)
        let others = [Key.text("x"), .enter, .tab, .control("a"), .paste("q")].map { board.press($0) }
        #expect(!others.contains(false))
        let goesOn = board.press(key)
        #expect(!goesOn)
    }

    @Test func `the figures stand above the quotes`() {
        var board = board()
        let figures = BoardFigures(
            standing: .connected, connections: 2, ticks: 9, conflated: 1234, gaps: 1, resyncs: 2, stale: 3, garbage: 4,
            roundTrip: .milliseconds(12))
        let lines = board.lines(figures, ticksPerSecond: 20_000, columns: 200, height: 24)
        #expect(lines[0] == "ws://market/feed  connected")
        #expect(lines[1] == "20,000 ticks/s  rtt 12 ms  1,234 conflated  1 gap  2 resyncs  3 stale  4 garbage  2 connections")
        #expect(lines[3] == "no quotes yet   arrows scroll, q ends")
    }

    @Test func `the summary tells everything, also of nothing`() {
        #expect(
            BoardFigures().summary(symbols: 0)
                == "0 ticks of 0 symbols, 0 connections, 0 conflated, 0 gaps, 0 resyncs, 0 stale, 0 garbage")
        #expect(
            BoardFigures(connections: 1, ticks: 1, conflated: 1234, gaps: 1, resyncs: 1).summary(symbols: 1)
                == "1 tick of 1 symbol, 1 connection, 1,234 conflated, 1 gap, 1 resync, 0 stale, 0 garbage")
    }

    @Test func `what a server claims to have conflated may be any number`() {
        var counts = QuoteCounts()
        counts.conflated = .max
        var figures = BoardFigures()
        figures.count(counts)
        #expect(figures.conflated == .max)
    }
}
