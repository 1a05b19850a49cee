import Foundation
import HoldfastRooms

/// The owner of the terminal that a chat is drawn on.
@MainActor final class ChatScreen {
    private let chat: ChatModel
    private var board: ChatBoard
    private var decoder = KeyDecoder()
    private var last: [String] = []
    /// How long the hub takes to answer a ping; nil: it has not.
    var roundTrip: Duration?

    init(_ chat: ChatModel, style: Style) { (self.chat, board) = (chat, ChatBoard(style: style)) }

    /// Takes the screen; false if standard input is no terminal.
    func open() -> Bool { RawMode.enter(for: .screen) }

    /// Gives the terminal back.
    func close() { RawMode.leave() }

    /// Draws, if there is anything new to see.
    func draw() {
        chat.markRead()
        let picture = ChatBoard.Picture(
            title: chat.title, people: chat.people.map(\.text), typing: chat.typing.map(\.text), connection: chat.connection,
            roundTrip: roundTrip, messages: chat.messages, hasEarlier: chat.hasEarlier, problem: chat.problem)
        // Asked anew each time, so a window that changes is no event.
        let size = StandardOutput.size()
        let lines = board.lines(picture, columns: size.columns > 0 ? size.columns : 80, height: size.rows > 0 ? size.rows : 24)
        guard lines != last else { return }
        last = lines
        StandardOutput.write(BoardScreen.picture(of: lines))
    }

    /// Takes what was typed; false if that ends the chat.
    func type(_ bytes: [UInt8]) async -> Bool {
        for key in decoder.decode(bytes) {
            switch board.press(key) {
            case .leave: return false
            case .send(let text): await send(text)
            case .loadEarlier: await chat.loadEarlier()
            case .putAwayProblem: chat.problem = nil
            case .suspend:
                RawMode.leave()
                Signals.suspendProcess()
                _ = open()
                last = []
            case nil: break
            }
        }
        if chat.draft != board.line.text { chat.draft = board.line.text }
        return true
    }

    private func send(_ text: String) async {
        chat.draft = text
        await chat.send()
    }
}
