import Foundation
import HoldfastRooms
import HoldfastTerminal
import WebSocketRuntime

/// Owns the terminal that a chat is drawn on.
///
/// Keys are processed at once, even while the store or the hub is slow; otherwise nobody could leave.
@MainActor final class ChatScreen {
    /// Everything that a picture depends on.
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
    /// The round trip of the last ping; nil: there is none.
    var roundTrip: Duration?

    init(_ chat: ChatModel, style: Style) { (self.chat, board) = (chat, ChatBoard(style: style)) }

    /// Takes over the screen; returns false if standard input is not a terminal.
    func open() -> Bool {
        isOpen = RawMode.enter(for: .conversation)
        last = nil
        return isOpen
    }

    /// Restores the terminal, and accepts no more texts.
    func close() {
        isOpen = false
        RawMode.leave()
        outgoing.finish()
    }

    /// Draws the chat if anything has changed.
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

    /// Processes typed bytes; returns false if they end the chat.
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

    /// Sends the written texts one after another, until the screen is closed.
    func send() async {
        for await text in texts {
            chat.draft = text
            await chat.send()
            // The outbox did not accept the text.
            if !chat.draft.isEmpty { board.restore(chat.draft) }
        }
    }

    /// Loads older messages whenever the user scrolls back to them.
    func loadEarlier() async { for await _ in calls { await chat.loadEarlier() } }
}

/// The last printed entry of a room, in a file beside its store: the store may have received more before the program ended.
final class PrintedMark {
    private let file: FileHandle
    /// The position of the last printed entry; nil if there is none.
    private(set) var position: LogPosition?

    /// Opens the file for a room, or creates one.
    ///
    /// - Parameter store: The directory of the store.
    init(store: String, room: RoomName) throws {
        // Encodes the room's name, which may be any text, as a file name.
        let name = Data(room.text.utf8).base64EncodedString().replacing("/", with: "_")
        let path = store + "/printed-" + name
        // The rooms that somebody reads are private, whatever the umask is.
        do throws(Disk.Failure) {
            file = FileHandle(fileDescriptor: try Disk.openFile(path), closeOnDealloc: true)
        } catch {
            throw RoomStoreError.failed("\(path) cannot be used: \(error.text)")
        }
        let numbers = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(whereSeparator: \.isWhitespace)
        if numbers.count == 2, let seq = Int64(numbers[0]), let epoch = UInt64(numbers[1]) {
            position = LogPosition(epoch: epoch, seq: seq)
        }
    }

    /// Stores that an entry was printed.
    ///
    /// It always writes the same number of bytes, in one call, so that the file is never half written. After a power loss the file may
    /// hold an older position; then the entries after it are printed again.
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
