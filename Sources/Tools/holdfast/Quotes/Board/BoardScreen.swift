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
        let size = ScreenPicture.size
        let lines = board.lines(figures, ticksPerSecond: rate.perSecond, columns: size.columns, height: size.rows)
        guard lines != last else { return }
        last = lines
        StandardOutput.write(ScreenPicture.drawing(lines))
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
}
