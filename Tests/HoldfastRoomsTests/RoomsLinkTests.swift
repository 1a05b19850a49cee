import Holdfast
import HoldfastRooms
import HoldfastTesting
import ProtocolStage
import RoomCore
import RoomsWire
import Testing
import WebSocketCore

/// The connection between rooms and their hub.
@Suite(.timeLimit(.minutes(2))) struct RoomsLinkTests {
    /// Numbers the tokens, so that a test sees each request for one.
    private actor TokenSource {
        private(set) var count = 0
        func next() -> String {
            count += 1
            return "token \(count)"
        }
    }

    @Test func `the token is sent with each connection, and a fresh one before it expires`() async throws {
        let source = TokenSource()
        let stage = RoomsStage { await source.next() }
        let (peer, hello) = try await stage.accept(expires: RoomsStage.now + 100_000)
        #expect(hello.token == "token 1")
        try await stage.rooms.whenOnline()
        #expect(stage.rooms.user == RoomsPeer.ann && hello.device == stage.rooms.device)
        stage.clock.advance(by: .seconds(70))
        #expect(try await peer.next { if case .auth = $0 { true } else { false } } == .auth(token: "token 2"))
        peer.transport.cut()
        let second = try await stage.answerAgain()
        guard case .hello(let again)? = try await second.next() else { throw RoomsPeer.Mismatch() }
        #expect(again.token == "token 3" && again.device == hello.device)
    }

    @Test func `a calendar ahead of the hub's clock does not expire a token`() async throws {
        let source = TokenSource()
        let stage = RoomsStage(ahead: 3_600_000) { await source.next() }
        let (peer, _) = try await stage.accept(expires: RoomsStage.now + 100_000)
        try await stage.rooms.whenOnline()
        #expect(await source.count == 1)
        stage.clock.advance(by: .seconds(70))
        #expect(try await peer.next { if case .auth = $0 { true } else { false } } == .auth(token: "token 2"))
        // The fresh token expires no later than the one before.
        try await peer.send(.renewed(expires: RoomsStage.now + 70_000))
        while await stage.clock.nextSleep() != .seconds(2) {}
        #expect(await source.count == 2)
    }

    @Test func `without a token the client tries again, unless the provider's error is final`() async throws {
        let source = TokenSource()
        let stage = RoomsStage {
            switch await source.next() {
            case "token 1": throw CredentialUnavailable(isRetryable: true, "no network")
            default: throw CredentialUnavailable(isRetryable: false, "sign in first")
            }
        }
        let first = try await stage.answer()
        while (try? await first.next()) != nil {}
        let second = try await stage.answerAgain().transport
        let error = await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await second.receive() }
            return await failure(of: stage.rooms)
        }
        guard case .refused(let refusal) = error else { throw RoomsPeer.Mismatch() }
        #expect(refusal.text == "sign in first")
    }

    /// A provider that ignores cancellation and returns no token before the test says so.
    private actor StuckTokenSource {
        private var waiting: [CheckedContinuation<Void, Never>] = []
        func next() async -> String {
            await withCheckedContinuation { waiting.append($0) }
            return "too late"
        }
        func answer() { for waiter in waiting { waiter.resume() } }
    }

    @Test func `a token provider that ignores cancellation does not block the rooms`() async throws {
        let source = StuckTokenSource()
        let stage = RoomsStage { await source.next() }
        let first = try await stage.answer()
        while await stage.clock.nextSleep() != RoomsOptions().tokenPatience {}
        stage.clock.advance(by: RoomsOptions().tokenPatience)
        while (try? await first.next()) != nil {}
        #expect(await stage.base.nextAttempt() != nil)
        await stage.rooms.close()
        await source.answer()
    }

    @Test func `a hub with too many connections is not contacted before its retry time`() async throws {
        let stage = RoomsStage()
        let peer = try await stage.answer()
        _ = try await peer.next()
        let before = stage.clock.now.offset
        try await peer.send(.refusal(Refusal(.count, retry: .after(20_000), "too many connections of this address")))
        _ = await peer.transport.close(CloseFrame(CloseCode(rawValue: 4003), reason: "too many connections"))
        while true {
            // The client may see the close before the refusal. In both cases it sends no hello earlier.
            let next = try await stage.answerAgain()
            if case .hello? = try? await next.next() { break }
        }
        #expect(stage.clock.now.offset - before >= .seconds(20))
    }

    @Test func `a hub can refuse the device in one room, and the others go on`() async throws {
        let (stage, peer, room) = try await RoomsStage.live()
        let other = try await stage.rooms.join("other")
        _ = try await peer.next { if case .join = $0 { true } else { false } }
        try await peer.send(.refusal(Refusal(.device, room: other.name, "the device is another user's")))
        await other.until { if case .refused = $0.phase { true } else { false } }
        let receipt = try await room.send(ChatText("hi"))
        try await peer.ack(try await peer.publication(), at: 1)
        #expect(try await receipt.stored().seq == 1)
    }

    private func failure(of rooms: Rooms) async -> RoomsError? {
        do throws(RoomsError) {
            try await rooms.whenOnline()
            return nil
        } catch { return error }
    }

    @Test func `a hub that refuses the client for good ends the rooms with its reason`() async throws {
        let stage = RoomsStage()
        let peer = try await stage.answer()
        _ = try await peer.next()
        try await peer.send(.refusal(Refusal(.device, "this device belongs to bob")))
        _ = try? await peer.next()
        guard case .refused(let refusal)? = await failure(of: stage.rooms) else { throw RoomsPeer.Mismatch() }
        #expect(refusal.code == .device)
        guard case .closed(.refused?) = stage.rooms.state else { throw RoomsPeer.Mismatch() }
        await stage.rooms.socket.states.until(\.isClosed)
    }

    @Test func `a stopping hub is not contacted before its retry time`() async throws {
        let (stage, peer, _) = try await RoomsStage.live()
        try await peer.send(.goaway(.init(after: 20_000, drain: 1000)))
        while (try? await peer.next()) != nil {}
        let before = stage.clock.now.offset
        _ = try #require(await stage.base.nextAttempt())
        #expect(stage.clock.now.offset - before >= .seconds(20))
    }

    @Test func `after an invalid frame the client reconnects`() async throws {
        let stage = RoomsStage()
        let peer = try await stage.accept().peer
        try await stage.rooms.whenOnline()
        try await peer.transport.send(.text("{"))
        while (try? await peer.next()) != nil {}
        #expect(await stage.base.nextAttempt() != nil)
    }

    @Test func `a client ends when another connection of its device replaces it`() async throws {
        let (stage, peer, _) = try await RoomsStage.live()
        _ = await peer.transport.close(CloseFrame(CloseCode(rawValue: 4000), reason: "replaced"))
        guard case .connection(let error)? = await firstEnding(of: stage.rooms) else { throw RoomsPeer.Mismatch() }
        #expect(error.closeRecord?.received?.code?.rawValue == 4000)
    }

    @Test(arguments: [4001, 4004] as [UInt16]) func `after close codes from 4001 to 4099 the client reconnects`(code: UInt16) async throws {
        let (stage, peer, _) = try await RoomsStage.live()
        _ = await peer.transport.close(CloseFrame(CloseCode(rawValue: code), reason: "later"))
        #expect(await stage.base.nextAttempt() != nil)
    }

    @Test func `closing leaves each room before the connection ends, and pending messages stay in the outbox`() async throws {
        let (stage, peer, room) = try await RoomsStage.live()
        try await room.send(ChatText("hi"))
        _ = try await peer.publication()
        let closing = Task { await stage.rooms.close() }
        #expect(try await peer.next() == .leave(RoomsPeer.room))
        #expect(try await peer.next() == nil, "and nothing after that")
        await closing.value
        #expect(room.outbox.count == 1)
        guard case .closed(nil) = stage.rooms.state else { throw RoomsPeer.Mismatch() }
    }

    // MARK: Errors of timeouts

    /// The error of a wait for the hub that times out.
    private func timeOut(_ stage: RoomsStage, _ wait: @escaping @Sendable () async throws -> Void) async -> RoomsError? {
        let waiting = Task { () async -> RoomsError? in
            do { try await wait() } catch { return error as? RoomsError }
            return nil
        }
        while await stage.clock.nextSleep() != .seconds(3) {}
        stage.clock.advance(by: .seconds(3))
        return await waiting.value
    }

    @Test func `cancelling the task that runs the rooms leaves them and closes the socket`() async throws {
        let (stage, peer, _) = try await RoomsStage.live()
        let running = Task { try await stage.rooms.run() }
        running.cancel()
        guard case .leave? = try await peer.next({ if case .leave = $0 { true } else { false } }) else { throw RoomsPeer.Mismatch() }
        _ = await peer.transport.ended()
        try await running.value
        guard case .closed(nil) = stage.rooms.state else { throw RoomsPeer.Mismatch() }
        guard case .closed = stage.rooms.socket.state else { throw RoomsPeer.Mismatch() }
    }

    @Test func `a timeout reports that the server is no hub`() async throws {
        let stage = RoomsStage()
        let room = try await stage.rooms.join("abc")
        let receipt = try await room.send(ChatText("hi"))
        let server = try await stage.base.answer()
        guard case .message? = try await server.receive() else { throw RoomsPeer.Mismatch() }
        let error = await timeOut(stage) { try await receipt.stored(within: .seconds(3)) }
        guard case .timedOut("storing the message", cause: .notAHub?)? = error else { throw RoomsPeer.Mismatch() }
        #expect(error?.description.contains("the server is not a rooms hub: it selected no rooms subprotocol") == true)
        #expect(error?.isRetryable == true && error?.code == .timedOut)
        #expect((error?.underlying as? RoomsError)?.code == .notAHub)
    }

    @Test func `a server that answers with another message is no hub either`() async throws {
        let stage = RoomsStage()
        let server = try await stage.base.answer()
        try await server.send(.text("welcome to the echo service"))
        while (try? await server.receive()) != nil {}
        let error = await timeOut(stage) { try await stage.rooms.whenOnline(within: .seconds(3)) }
        guard case .timedOut(_, cause: .notAHub(let words)?)? = error else { throw RoomsPeer.Mismatch() }
        #expect(words == "what it sent is no frame of the protocol")
    }

    @Test func `a timeout reports why there is no connection, until the hub's welcome`() async throws {
        let stage = RoomsStage()
        let down = TransportError(.unreachable, "connection refused")
        try #require(await stage.base.server.nextAttempt()).refuse(down)
        var error: RoomsError?
        repeat {  // The rooms see the disconnect a moment after the socket.
            error = await timeOut(stage) { try await stage.rooms.whenOnline(within: .seconds(3)) }
        } while error.map { if case .timedOut(_, cause: nil) = $0 { true } else { false } } == true && !Task.isCancelled
        guard case .timedOut(_, cause: .connection(let cause)?)? = error else { throw RoomsPeer.Mismatch() }
        #expect(cause.code == .unreachable)
        #expect(error?.description.contains("there is no connection (connection refused)") == true)

        let room = try await stage.rooms.join("abc")
        let peer = try await stage.resume()
        try await peer.state()
        await room.until(\.isLive)
        let receipt = try await room.send(ChatText("hi"))
        let late = await timeOut(stage) { try await receipt.stored(within: .seconds(3)) }
        guard case .timedOut(_, cause: nil)? = late else { throw RoomsPeer.Mismatch() }
    }

    @Test func `a timeout reports the refusal of the hub or of the token provider`() async throws {
        let stage = RoomsStage()
        let peer = try await stage.answer()
        _ = try await peer.next()
        try await peer.send(.refusal(Refusal(.expired, retry: .reconnect, "the token is old")))
        while (try? await peer.next()) != nil {}
        let error = await timeOut(stage) { try await stage.rooms.whenOnline(within: .seconds(3)) }
        guard case .timedOut(_, cause: .refused(let refusal)?)? = error else { throw RoomsPeer.Mismatch() }
        #expect(refusal.code == .expired && error?.description.contains("the token is old") == true)

        struct Offline: Error {}
        let other = RoomsStage { throw Offline() }
        let transport = try await other.answer().transport
        while (try? await transport.receive()) != nil {}
        let late = await timeOut(other) { try await other.rooms.whenOnline(within: .seconds(3)) }
        guard case .timedOut(_, cause: .timedOut(let token, cause: nil)?)? = late else { throw RoomsPeer.Mismatch() }
        #expect(token == "the token (Offline)")
    }

    private func firstEnding(of rooms: Rooms) async -> RoomsError? {
        for await state in rooms.states { if case .closed(let error) = state { return error } }
        return nil
    }

    @Test func `released rooms end their socket and their readers`() async throws {
        var stage: RoomsStage? = RoomsStage()
        weak let rooms = stage?.rooms
        let peer = try await stage?.accept().peer
        stage = nil
        #expect(rooms == nil)
        while (try? await peer?.next()) != nil {}
    }

    @Test func `a store that cannot be opened ends the rooms`() async throws {
        let stage = RoomsStage(store: BrokenStore(opens: false))
        guard case .store? = await failure(of: stage.rooms) else { throw RoomsPeer.Mismatch() }
        await #expect(throws: RoomsError.self) { try await stage.rooms.join("abc") }
    }

    @Test func `a message that cannot be written is refused, and the error says that the disk is full`() async throws {
        let stage = RoomsStage(store: BrokenStore(opens: true))
        let room = try await stage.rooms.join("abc")
        do throws(RoomsError) {
            try await room.send(ChatText("hi"))
            Issue.record("the message was accepted")
        } catch {
            guard case .notQueued(.store(full: true)) = error else { throw error }
            #expect(error.description.contains("disk is full"))
        }
        #expect(room.outbox.isEmpty)
    }
}

/// A store on a full disk, or one that cannot be opened.
private struct BrokenStore: RoomStore {
    let opens: Bool
    let memory = MemoryRoomStore()

    func device() async throws(RoomStoreError) -> DeviceID {
        guard opens else { throw .corrupt("torn") }
        return await memory.device()
    }
    func rooms() async throws(RoomStoreError) -> [StoredRoomSummary] { [] }
    func room(_ name: RoomName) async throws(RoomStoreError) -> StoredRoom { StoredRoom() }
    func commit(_ changes: [StoreChange]) async throws(RoomStoreError) { throw .full }
    func entries(_ room: RoomName, before: Int64?, limit: Int) async throws(RoomStoreError) -> [Entry] { [] }
    func entries(_ room: RoomName, after: LogPosition, limit: Int) async throws(RoomStoreError) -> [Entry]? { nil }
}

extension WebSocketState {
    var isClosed: Bool { if case .closed = self { true } else { false } }
}
