import Foundation
import HoldfastRooms
import WebSocketRuntime

/// The owner of the terminal that a chat is drawn on.
///
/// Keys are taken at once, whatever waits for the store or the hub: without them nobody could leave.
@MainActor final class ChatScreen {
    /// All that a picture is made of.
    private struct Source: Equatable {
        var picture: ChatBoard.Picture
        var board: ChatBoard
        var columns: Int
        var rows: Int
    }

    private let chat: ChatModel
    private var board: ChatBoard
    private var decoder = KeyDecoder()
    private var last: Source?
    private var isOpen = false
    private let (texts, outgoing) = AsyncStream.makeStream(of: String.self)
    private let (calls, earlier) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// How long the hub takes to answer a ping; nil: it has not.
    var roundTrip: Duration?

    init(_ chat: ChatModel, style: Style) { (self.chat, board) = (chat, ChatBoard(style: style)) }

    /// Takes the screen; false if standard input is no terminal.
    func open() -> Bool {
        isOpen = RawMode.enter(for: .conversation)
        last = nil
        return isOpen
    }

    /// Gives the terminal back, and takes no more texts.
    func close() {
        isOpen = false
        RawMode.leave()
        outgoing.finish()
    }

    /// Draws, if there is anything new to see.
    func draw() {
        guard isOpen else { return }
        chat.markRead()
        let picture = ChatBoard.Picture(
            title: chat.title, people: chat.people.map(\.user.text), typing: chat.typing.map(\.text), connection: chat.connection,
            roundTrip: roundTrip, messages: chat.messages, hasEarlier: chat.hasEarlier, problem: chat.problem)
        let size = ScreenPicture.size
        guard last != Source(picture: picture, board: board, columns: size.columns, rows: size.rows) else { return }
        let lines = board.lines(picture, columns: size.columns, height: size.rows)
        last = Source(picture: picture, board: board, columns: size.columns, rows: size.rows)
        StandardOutput.write(ScreenPicture.drawing(lines, cursor: board.cursor))
    }

    /// Takes what was typed; false if that ends the chat.
    func type(_ bytes: [UInt8]) -> Bool {
        for key in decoder.decode(bytes) {
            switch board.press(key) {
            case .leave: return false
            case .send(let text): outgoing.yield(text)
            case .loadEarlier: earlier.yield()
            case .putAwayProblem: chat.problem = nil
            case .retry: for message in failed { chat.retry(message) }
            case .discard: for message in failed { chat.discard(message) }
            case .suspend:
                RawMode.leave()
                Signals.suspendProcess()
                _ = open()
            case nil: break
            }
        }
        if chat.draft != board.line.text { chat.draft = board.line.text }
        return true
    }

    private var failed: [ChatMessage] { chat.messages.filter { $0.delivery?.isFailed ?? false } }

    /// Sends what was written, one after the other, until the screen is closed.
    func send() async {
        for await text in texts {
            chat.draft = text
            await chat.send()
            // The outbox did not take it.
            if !chat.draft.isEmpty { board.restore(chat.draft) }
        }
    }

    /// Loads older messages whenever somebody goes back to them.
    func loadEarlier() async { for await _ in calls { await chat.loadEarlier() } }
}

/// How far a room was printed, in a file beside its store: that may have received more when its program ends.
final class PrintedMark {
    private let file: FileHandle
    /// The last entry that was printed; nil: none was.
    private(set) var position: LogPosition?

    /// Opens the mark of a room, or makes one.
    ///
    /// - Parameter store: The directory of the store.
    init(store: String, room: RoomName) throws {
        // A name of any text, as one of a file.
        let name = Data(room.text.utf8).base64EncodedString().replacing("/", with: "_")
        let path = store + "/printed-" + name
        // Which room somebody reads is nobody else's business, whatever the umask.
        do throws(Disk.Failure) {
            file = FileHandle(fileDescriptor: try Disk.openFile(path), closeOnDealloc: true)
        } catch {
            throw RoomStoreError.failed("\(path) is no file of ours: \(error.text)")
        }
        let numbers = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(whereSeparator: \.isWhitespace)
        if numbers.count == 2, let seq = Int64(numbers[0]), let epoch = UInt64(numbers[1]) {
            position = LogPosition(epoch: epoch, seq: seq)
        }
    }

    /// Takes down that an entry was printed.
    ///
    /// Always as many bytes, written at once, so that there is never half of it; after a loss of power an older one may stand there, and
    /// what follows it is printed again.
    func note(_ position: LogPosition) throws {
        self.position = position
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data("\(Self.padded(position.seq)) \(Self.padded(position.epoch))\n".utf8))
    }

    private static func padded(_ number: some BinaryInteger) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 20 - digits.count)) + digits
    }
}
