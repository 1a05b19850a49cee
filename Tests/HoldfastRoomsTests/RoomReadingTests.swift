import Holdfast
import HoldfastRooms
import HoldfastTesting
import ProtocolStage
import RoomCore
import RoomsWire
import Testing

/// How an app reads a room.
@Suite(.timeLimit(.minutes(2))) struct RoomReadingTests {
    /// Takes `count` updates.
    private func take(_ count: Int, _ messages: RoomMessages) async throws -> [RoomUpdate] {
        var updates: [RoomUpdate] = []
        for try await update in messages {
            updates.append(update)
            if updates.count == count { break }
        }
        return updates
    }

    @Test func `a reader gets history and then live entries, without gaps and repeats`() async throws {
        let (_, peer, room) = try await RoomsStage.live([.said(1), .said(2)])
        try await peer.entries([.said(3)])
        // A repeated entry, as after a resume, is ignored.
        try await peer.entries([.said(2), .said(3), .said(4)])
        var iterator = room.messages.makeAsyncIterator()
        for seq in 1...4 { #expect(try await iterator.next() == .entry(.said(Int64(seq)))) }
        try await peer.entries([.said(5)])
        #expect(try await iterator.next() == .entry(.said(5)))
        let place = LogPosition(epoch: RoomsStage.epoch, seq: 3)
        #expect(try await take(2, room.messages(after: place)) == [.entry(.said(4)), .entry(.said(5))])
        let strange = LogPosition(epoch: 1, seq: 3)
        #expect(try await take(2, room.messages(after: strange)) == [.replaced(room.status.cursor), .entry(.said(1))])
    }

    @Test func `a snapshot is announced before its entries`() async throws {
        let (stage, peer, room) = try await RoomsStage.live([.said(1)])
        var iterator = room.messages.makeAsyncIterator()
        #expect(try await iterator.next() == .entry(.said(1)))
        peer.transport.cut()
        await stage.rooms.states.until { !$0.isOnline }
        let second = try await stage.answerAgain()
        _ = try await second.next()
        try await second.welcome()
        try await second.state([.said(90), .said(91)], epoch: 0xBB, base: 50)
        #expect(try await iterator.next() == .replaced(LogPosition(epoch: 0xBB, seq: 91)))
        #expect(try await iterator.next() == .entry(.said(90)))
        #expect(try await iterator.next() == .entry(.said(91)))
    }

    @Test func `a slow reader keeps few entries in memory, and still gets all of them`() async throws {
        let (stage, peer, room) = try await RoomsStage.live([.said(1)])
        var iterator = room.messages.makeAsyncIterator()
        _ = try await iterator.next()
        for first in stride(from: Int64(2), to: 602, by: 50) { try await peer.entries((first..<first + 50).map { .said($0) }) }
        await room.until { $0.cursor.seq == 601 }
        #expect(stage.rooms.readyEntries(of: RoomsPeer.room) <= 64)
        for seq in 2...601 { #expect(try await iterator.next()?.entry?.seq == Int64(seq)) }
        #expect(stage.rooms.readyEntries(of: RoomsPeer.room) <= 64)
    }

    @Test func `a reader that is behind the store's oldest entry is told about the gap`() async throws {
        let (_, peer, room) = try await RoomsStage.live([.said(1)], store: MemoryRoomStore(entriesPerRoom: 100))
        var iterator = room.messages.makeAsyncIterator()
        _ = try await iterator.next()
        for first in stride(from: Int64(2), to: 502, by: 100) { try await peer.entries((first..<first + 100).map { .said($0) }) }
        await room.until { $0.cursor.seq == 501 }
        #expect(try await iterator.next() == .replaced(room.status.cursor))
        var last: Int64 = 0
        while last < 501 {
            let seq = try #require(try await iterator.next()?.entry?.seq)
            #expect(last == 0 || seq == last + 1)
            last = seq
        }
    }

    @Test func `stored entries can be read without a connection`() async throws {
        let store = MemoryRoomStore()
        do {
            let (stage, peer, room) = try await RoomsStage.live([.said(1), .said(2), .said(3)], store: store)
            room.readUpTo(1)
            _ = try await peer.next { if case .read = $0 { true } else { false } }
            #expect(try await room.unread() == 2)
            await stage.rooms.close()
        }
        let stage = RoomsStage(store: store)
        #expect(try await stage.rooms.storedRooms().map(\.name) == [RoomsPeer.room])
        let room = try await stage.rooms.join("abc")
        #expect(try await take(3, room.messages).compactMap(\.entry?.seq) == [1, 2, 3])
        #expect(try await room.unread() == 2)
        #expect(try await room.earlier(than: 3, limit: 1).entries.map(\.seq) == [2])
        #expect(!stage.rooms.state.isOnline && !room.status.isLive)
    }

    @Test func `older entries come from the hub where the store ends`() async throws {
        let (_, peer, room) = try await RoomsStage.live([.said(8), .said(9)])
        let page = Task { try await room.earlier(than: 8, limit: 2) }
        guard case .history(let question)? = try await peer.next({ if case .history = $0 { true } else { false } }) else {
            throw RoomsPeer.Mismatch()
        }
        #expect(question.before == 8 && question.limit == 2)
        try await peer.page([.said(6), .said(7)], for: question, base: 6)
        #expect(try await page.value == RoomPage(entries: [.said(6), .said(7)], reachedBeginning: true))
        // They touch the stored entries, so they are stored too.
        #expect(try await take(4, room.messages).compactMap(\.entry?.seq) == [6, 7, 8, 9])
    }

    @Test func `a read from the beginning gives all retained entries in order, although the last ones arrive first`() async throws {
        let stage = RoomsStage()
        let room = try await stage.rooms.join("abc", from: .beginning)
        let reading = Task { try await take(4, room.messages) }
        let peer = try await stage.resume()
        try await peer.state([.said(8), .said(9)], base: 6)
        guard case .history(let question)? = try await peer.next({ if case .history = $0 { true } else { false } }) else {
            throw RoomsPeer.Mismatch()
        }
        try await peer.page([.said(6), .said(7)], for: question, base: 6)
        #expect(try await reading.value == [.entry(.said(6)), .entry(.said(7)), .entry(.said(8)), .entry(.said(9))])
    }

    @Test func `a read from the beginning gives the available entries if the hub refuses older pages`() async throws {
        let stage = RoomsStage()
        let room = try await stage.rooms.join("abc", from: .beginning)
        let reading = Task { try await take(2, room.messages) }
        let peer = try await stage.resume()
        try await peer.state([.said(8), .said(9)], base: 6)
        guard case .history(let question)? = try await peer.next({ if case .history = $0 { true } else { false } }) else {
            throw RoomsPeer.Mismatch()
        }
        try await peer.send(.refusal(Refusal(.rights, reference: question.reference, "not the past")))
        #expect(try await reading.value == [.entry(.said(8)), .entry(.said(9))])
    }

    @Test func `a read from the beginning waits for no more entries than the store keeps`() async throws {
        let stage = RoomsStage(store: MemoryRoomStore(entriesPerRoom: 2))
        let room = try await stage.rooms.join("abc", from: .beginning)
        let reading = Task { try await take(2, room.messages) }
        let peer = try await stage.resume()
        try await peer.state([.said(8), .said(9)], base: 1)
        #expect(try await reading.value == [.entry(.said(8)), .entry(.said(9))])
    }

    @Test func `messages of this device are not unread, also before the welcome`() async throws {
        let store = MemoryRoomStore()
        var own = Entry.said(1)
        (own.device, own.user) = (await store.device(), RoomsPeer.ann)
        try await store.commit([.replace(RoomsPeer.room, cursor: LogPosition(epoch: RoomsStage.epoch, seq: 2), [own, .said(2)])])
        let room = try await RoomsStage(store: store).rooms.join("abc")
        #expect(room.rooms.user == nil)
        #expect(try await room.unread() == 1)
    }

    @Test func `the messages end when the room is left or the rooms are closed, and fail if the hub refuses`() async throws {
        let (stage, peer, room) = try await RoomsStage.live()
        let reading = Task { try await take(1, room.messages) }
        room.leave()
        #expect(try await reading.value.isEmpty)
        #expect(room.status.phase == .left)
        _ = try await peer.next { if case .leave = $0 { true } else { false } }
        let again = try await stage.rooms.join("abc")
        _ = try await peer.next { if case .join = $0 { true } else { false } }
        let refused = Task { try await take(1, again.messages) }
        try await peer.send(.refusal(Refusal(.rights, room: RoomsPeer.room, "not for you")))
        await #expect(throws: RoomsError.self) { try await refused.value }
        await #expect(throws: RoomsError.self) { try await again.whenLive() }
        let second = try await stage.rooms.join("other")
        let last = Task { try await take(1, second.messages) }
        await stage.rooms.close()
        #expect(try await last.value.isEmpty)
        #expect(await stage.rooms.states.reduce(0) { count, _ in count + 1 } == 1)
    }

    @Test func `members are grouped by user, typing and signals are reported, and read markers never move back`() async throws {
        let (stage, peer, room) = try await RoomsStage.live([.said(1), .said(2)])
        let signals = room.signals
        let member = { (name: String, user: UserName) in PresentMember(connection: name, user: user, presence: Presence()) }
        try await peer.members([member("c3", RoomsPeer.bob), member("c1", RoomsPeer.ann), member("c2", RoomsPeer.bob)])
        await room.until { $0.total == 3 }
        #expect(room.members.map(\.user) == [RoomsPeer.ann, RoomsPeer.bob])
        #expect(room.members.last?.connections.map(\.connection) == ["c2", "c3"])
        try await peer.send(.typing(RoomsPeer.room, RoomsPeer.bob, true))
        await room.until { $0.typing == [RoomsPeer.bob] }
        let signal = Signal(type: "cursor", payload: .json(Array("1".utf8)))
        try await peer.send(.signal(RoomsPeer.room, from: RoomsPeer.bob, connection: "c2", signal))
        var iterator = signals.makeAsyncIterator()
        #expect(await iterator.next() == ReceivedSignal(user: RoomsPeer.bob, connection: "c2", signal: signal))
        room.readUpTo(2)
        room.readUpTo(1)
        room.readUpTo(99)
        #expect(room.status.read == 2)
        #expect(try await peer.next { if case .read = $0 { true } else { false } } == .read(RoomsPeer.room, upTo: 2))
        await stage.rooms.close()
        #expect(await iterator.next() == nil)
    }

    @Test func `signals that do not fit into the outbound queue are dropped, and typing is still sent`() async throws {
        let (_, peer, room) = try await RoomsStage.live()
        let signal = Signal(type: "cursor", payload: .json(Array("\"\(String(repeating: "x", count: 4000))\"".utf8)))
        for _ in 0..<5000 { room.signal(signal) }
        room.setTyping()
        var count = 0
        _ = try await peer.next { frame in
            if case .signal = frame { count += 1 }
            if case .typing = frame { return true }
            return false
        }
        #expect(count > 0 && count < 5000)
    }

    @Test func `known types are decoded, and others keep their raw payload`() throws {
        struct Move: RoomContent, Equatable {
            static let typeName = "game.move"
            var to: String
        }
        let contents = RoomContents(ChatText.self, Move.self)
        var entry = Entry.said(1, "hi")
        guard case .known(let text as ChatText) = contents.read(entry) else { throw RoomsPeer.Mismatch() }
        #expect(text == ChatText("hi") && entry.content(ChatText.self) == text && entry.content(Move.self) == nil)
        entry.type = "game.move"
        guard case .unreadable("game.move", entry.payload, _) = contents.read(entry) else { throw RoomsPeer.Mismatch() }
        entry.type = "new"
        guard case .unknown("new", entry.payload) = contents.read(entry) else { throw RoomsPeer.Mismatch() }
    }
}
