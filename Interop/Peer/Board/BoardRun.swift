import Board
import Foundation
import Holdfast
import HoldfastProtocols
import WebSocketRuntime

/// Posts to a board and follows it, from two clients whose connections are cut.
///
/// Checks that each text arrives once.
struct BoardRun {
    private static let channel = "news"
    let url: String
    let posts: Int
    /// The file for the texts that were read, one per line.
    let log: String

    func run() async -> Bool {
        let (writer, reader) = (board(), board())
        let judge = BoardJudge()
        async let seen = read(reader)
        var outcomes: [String: BoardRules.Event.News] = [:]
        await withTaskGroup { group in
            for number in 1...posts {
                group.addTask { await (Self.text(number), post(Self.text(number), to: writer)) }
                if number > 100, let (text, news) = await group.next() { outcomes[text] = news }
            }
            for await (text, news) in group { outcomes[text] = news }
        }
        judge.check("the board has each of \(posts) posts", outcomes.count == posts && outcomes.values.allSatisfy { $0 == .posted })
        let texts = await seen
        judge.check("all of them were read", texts.count == posts)
        judge.check("what was read is on disk", Self.write(texts, to: log))
        judge.check("what the board does not take is told", await isRefused(by: writer))
        judge.check("messages are handled on the event loop of their connection", await isHandledOnLoop())
        await writer.close()
        await reader.close()
        return judge.isGood
    }

    private static func text(_ number: Int) -> String { "text \(number)" }

    private static func write(_ texts: [String], to path: String) -> Bool {
        (try? Data(texts.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: path))) != nil
    }

    private func board() -> Board {
        Board(url) { options in
            options.reconnect.backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(20), minimum: .milliseconds(1))
            options.reconnect.spacing = .milliseconds(1)
        }
    }

    private func post(_ text: String, to board: Board) async -> BoardRules.Event.News {
        do { return try await board.post(text, to: Self.channel) } catch { return .failed(reason: "\(error)", mayHaveArrived: true) }
    }

    private func isRefused(by board: Board) async -> Bool {
        await post("", to: board) == .failed(reason: "there is no text", mayHaveArrived: false)
    }

    private func isHandledOnLoop() async -> Bool {
        let threads = LockedValue<Set<String>>([])
        let socket = WebSocket(url) { $0.connection.subprotocols = ["board.v1"] }
        let client = ProtocolClient(BoardRules(name: "watcher", seed: 1), over: socket) { _ in WatchingCoding(threads: threads) }
        do {
            try await client.ready(within: .seconds(20))
            for _ in 0..<5 { _ = try await client.request { .post($0, channel: "watched", text: "a", patience: nil) } }
        } catch {
            print("not ok watching: \(error)")
        }
        await client.close()
        let names = threads.withLockedValue(\.self)
        return !names.isEmpty && names.allSatisfy { $0.hasPrefix("NIO-") }
    }

    private func read(_ board: Board) async -> [String] {
        var texts: [String] = []
        do {
            for try await event in board.items(of: Self.channel) {
                guard case .item(_, let text) = event.news else { break }
                texts.append(text)
                if texts.count == posts { break }
            }
        } catch {
            print("not ok following: \(error)")
        }
        return texts
    }
}

/// The board's coding, which notes the threads that decode.
private struct WatchingCoding: ProtocolCoding {
    private let base = CodableCoding<BoardReply, BoardRequest>()
    let threads: LockedValue<Set<String>>

    init(threads: LockedValue<Set<String>>) { self.threads = threads }

    func decode(_ message: Message) throws -> BoardReply? {
        let name = try String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        threads.withLockedValue { _ = $0.insert(name) }
        return try base.decode(message)
    }
    func encode(_ message: BoardRequest) throws -> Message { try base.encode(message) }
}

private final class BoardJudge {
    private(set) var isGood = true

    func check(_ name: String, _ holds: Bool) {
        print(holds ? "ok \(name)" : "not ok \(name)")
        if !holds { isGood = false }
    }
}
