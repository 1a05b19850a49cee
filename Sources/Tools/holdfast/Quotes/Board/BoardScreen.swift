import Foundation
import HoldfastQuotes

/// The owner of the board and of the terminal that it is drawn on.
actor BoardScreen {
    private var board: Board
    private var decoder = KeyDecoder()
    private var rate = TickRate()
    private var sampledAt = ContinuousClock.now
    private var last: [String] = []
    private static let sampleEvery = Duration.milliseconds(500)

    init(_ board: Board) { self.board = board }

    /// Takes the screen; false if standard input is no terminal.
    func open() -> Bool { RawMode.enter(for: .screen) }

    /// Gives the terminal back.
    func close() { RawMode.leave() }

    /// Takes what is to be shown in the next picture.
    func take(_ update: QuoteUpdate) {
        for quote in update.quotes { board.show(quote) }
        for symbol in update.removed { board.remove(symbol) }
    }

    /// Draws, if there is anything new to see.
    func draw(_ figures: BoardFigures) {
        let now = ContinuousClock.now
        rate.note(figures.ticks, at: now)
        if now - sampledAt >= Self.sampleEvery {
            board.sample()
            sampledAt = now
        }
        // Asked anew each time, so a window that changes is no event.
        let size = StandardOutput.size()
        let lines = board.lines(
            figures, ticksPerSecond: rate.perSecond, columns: size.columns > 0 ? size.columns : 80, height: size.rows > 0 ? size.rows : 24)
        guard lines != last else { return }
        last = lines
        StandardOutput.write(Self.picture(of: lines))
    }

    /// Takes what was typed; false if that ends the board.
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

    /// What draws these lines over those before, all at once on terminals that can.
    static func picture(of lines: [String]) -> String {
        "\u{1B}[?2026h\u{1B}[H" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J\u{1B}[?2026l"
    }
}
