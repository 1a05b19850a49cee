import Holdfast
import HoldfastRooms
import HoldfastTesting
import ProtocolStage
import RoomCore
import RoomsWire
import Testing

/// The states of a message that an app sends.
@Suite(.timeLimit(.minutes(2))) struct RoomSendingTests {
    @Test(arguments: RoomsEncoding.allCases)
    func `a receipt goes through queued, sent, stored and seen`(encoding: RoomsEncoding) async throws {
        let stage = RoomsStage()
        let room = try await stage.rooms.join("abc")
        let receipt = try await room.send(ChatText("hi"))
        #expect(receipt.stage == .queued)
        #expect(room.outbox.map(\.stage) == [.queued])
        let peer = try await stage.resume(encoding)
        try await peer.state()
        let publication = try await peer.publication()
        #expect(publication.content?.type == "chat.text" && publication.content?.payload == .json(Array(#"{"text":"hi"}"#.utf8)))
        #expect(publication.cseq == 1 && publication.id == receipt.id)
        await receipt.until { $0 == .sent }
        try await peer.ack(publication, at: 1)
        let place = LogPosition(epoch: RoomsStage.epoch, seq: 1)
        #expect(try await receipt.stored() == place)
        // The message does not disappear from the screen between its ack and its entry.
        #expect(room.outbox.map(\.stage) == [.stored(place)])
        try await peer.entries([.of(publication, 1, by: try #require(stage.rooms.device))])
        await room.until(\.outbox.isEmpty)
        try await peer.send(.read(RoomsPeer.room, RoomsPeer.bob, upTo: 1))
        await receipt.until { $0 == .seen(place, by: [RoomsPeer.bob]) }
        #expect(try await receipt.stored() == place)
    }

    @Test func `the stages of a receipt come in order and end when the message is stored`() async throws {
        let (_, peer, room) = try await RoomsStage.live()
        let receipt = try await room.send(ChatText("hi"))
        async let seen = receipt.stages.reduce(into: [DeliveryStage]()) { $0.append($1) }
        let publication = try await peer.publication()
        await receipt.until { $0 == .sent }
        try await peer.ack(publication, at: 1)
        let stages = await seen
        #expect(stages.last == .stored(LogPosition(epoch: RoomsStage.epoch, seq: 1)))
        #expect(stages.dropLast().allSatisfy { $0 == .queued || $0 == .sent })
    }

    @Test func `after a disconnect messages are sent again with the same numbers and IDs`() async throws {
        let (stage, peer, room) = try await RoomsStage.live()
        let receipt = try await room.send(ChatText("hi"))
        let first = try await peer.publication()
        peer.transport.cut()
        await stage.rooms.states.until { !$0.isOnline }
        let second = try await stage.answerAgain()
        guard case .hello(let hello)? = try await second.next() else { throw RoomsPeer.Mismatch() }
        #expect(hello.joins.map(\.cursor) == [room.status.cursor])
        try await second.welcome()
        try await second.state(isSnapshot: false, high: 0)
        let publication = try await second.publication()
        #expect(publication == first && publication.id == receipt.id)
        try await second.ack(publication, at: 1, isDuplicate: true)
        #expect(try await receipt.stored().seq == 1)
    }

    @Test func `the outbox survives the rooms, and the next rooms on its store send it`() async throws {
        let store = MemoryRoomStore()
        let id: MessageID
        do {
            let stage = RoomsStage(store: store)
            let room = try await stage.rooms.join("abc")
            let receipt = try await room.send(ChatText("hi"))
            id = receipt.id
            await stage.rooms.close()
            await #expect(throws: RoomsError.self) { try await receipt.stored() }
            #expect(try await stage.rooms.storedRooms().map(\.waiting) == [1])
        }
        let stage = RoomsStage(store: store)
        let room = try await stage.rooms.join("abc")
        let receipt = try #require(room.receipt(for: id))
        #expect(receipt.stage == .queued)
        let peer = try await stage.resume()
        try await peer.state()
        let publication = try await peer.publication()
        #expect(publication.id == id)
        try await peer.ack(publication, at: 1)
        #expect(try await receipt.stored().seq == 1)
    }

    @Test func `a refused message has a reason, and can be retried or discarded`() async throws {
        let (stage, peer, room) = try await RoomsStage.live()
        let receipt = try await room.send(ChatText("hi"))
        let first = try await peer.publication()
        try await peer.refuse(first)
        do throws(RoomsError) {
            try await receipt.stored()
            Issue.record("a refused message was stored")
        } catch {
            guard case .failed(let failure) = error else { throw error }
            #expect(failure.code == .rights && !error.isRetryable && error.description.contains("not here"))
        }
        let void = try await peer.publication()
        #expect(void.content == nil && void.cseq == first.cseq)
        try await peer.ack(void, at: 0)
        await room.until { $0.outbox.allSatisfy { if case .failed = $0.stage { true } else { false } } }
        #expect(throws: RoomsError.self) { try stage.rooms.retry(MessageID(Bits128(high: 1, low: 1))) }
        try stage.rooms.retry(receipt.id)
        let second = try await peer.publication()
        #expect(second.content == first.content && second.cseq == first.cseq + 1)
        try await peer.refuse(second)
        let nextVoid = try await peer.publication()
        try await peer.ack(nextVoid, at: 0)
        await receipt.until { if case .failed = $0 { true } else { false } }
        try stage.rooms.discard(receipt.id)
        await receipt.until { $0 == .discarded }
        #expect(room.outbox.isEmpty)
        // Submitted again under its ID it is a new message, although an earlier receipt has the same ID.
        let again = try await room.send(ChatText("again"), id: receipt.id)
        #expect(again !== receipt && again.stage != .discarded)
        var third = try await peer.publication()
        // A void that was sent twice comes first.
        while third.content == nil { third = try await peer.publication() }
        #expect(third.id == receipt.id && third.cseq == second.cseq + 1)
    }

    @Test func `the outbox keeps its order when a new device renumbers it`() async throws {
        let (stage, peer, room) = try await RoomsStage.live()
        for number in 1...3 as ClosedRange<Int64> {
            try await room.send(ChatText("stored"))
            let publication = try await peer.publication()
            try await peer.ack(publication, at: number)
            try await peer.entries([.of(publication, number, by: try #require(stage.rooms.device))])
        }
        await room.until(\.outbox.isEmpty)
        var ids: [MessageID] = []
        for _ in 0..<2 {
            ids.append(try await room.send(ChatText("waits")).id)
            _ = try await peer.publication()
        }
        // The hub has a number that this device has not used, so another copy of the device has published.
        let device = stage.rooms.device
        let foreign = Publication(cseq: 90, id: MessageID(Bits128(high: 9, low: 9)), sent: 0, content: nil)
        try await peer.ack(foreign, at: 80)
        try await peer.ack(peer.publication(), at: 0)
        // Nothing announces a new device.
        while stage.rooms.device == device, !Task.isCancelled { await ProtocolStage.giveWay() }
        ids.append(try await room.send(ChatText("new")).id)
        #expect(room.outbox.map(\.id) == ids)
    }

    @Test func `a message that does not fit into the outbox is not queued`() async throws {
        var options = RoomsOptions()
        options.policy.outboxCount = 2
        let stage = RoomsStage(options: options)
        let room = try await stage.rooms.join("abc")
        try await room.send(ChatText("1"))
        try await room.send(ChatText("2"))
        do throws(RoomsError) {
            try await room.send(ChatText("3"))
            Issue.record("the message was accepted")
        } catch {
            guard case .notQueued(.tooMany) = error else { throw error }
            #expect(error.isRetryable)
        }
        #expect(room.outbox.count == 2)
    }

    @Test func `a message sent again with its ID while it is pending is the same message`() async throws {
        let stage = RoomsStage()
        let room = try await stage.rooms.join("abc")
        let id = MessageID(Bits128(high: 0x7000, low: 1 << 63))
        let receipt = try await room.send(ChatText("hi"), id: id)
        #expect(try await room.send(ChatText("hi"), id: id) === receipt)
        #expect(room.outbox.map(\.id) == [id])
    }

    @Test func `a message sent again with its ID between its ack and its entry is the same message`() async throws {
        let (stage, peer, room) = try await RoomsStage.live()
        let receipt = try await room.send(ChatText("hi"))
        try await peer.ack(try await peer.publication(), at: 1)
        _ = try await receipt.stored()
        #expect(try await room.send(ChatText("hi"), id: receipt.id) === receipt)
        #expect(room.outbox.map(\.id) == [receipt.id])
        withExtendedLifetime(stage) {}
    }

    @Test func `a message sent by two tasks at once with one ID is one message`() async throws {
        let stage = RoomsStage()
        let room = try await stage.rooms.join("abc")
        let id = MessageID(Bits128(high: 0x7000, low: 1 << 63))
        async let one = room.send(ChatText("hi"), id: id)
        async let other = room.send(ChatText("hi"), id: id)
        #expect(try await one === other)
        #expect(room.outbox.map(\.id) == [id])
    }

    @Test func `a message that is written while the rooms close is queued, or refused`() async throws {
        for isFull in [false, true] {
            let store = GatedStore()
            let stage = RoomsStage(store: store)
            let room = try await stage.rooms.join("abc")
            store.shut()
            let sending = Task { () async -> Result<Receipt, RoomsError> in
                do throws(RoomsError) { return .success(try await room.send(ChatText("hi"))) } catch { return .failure(error) }
            }
            await store.changes.until { store.waiting == 1 }
            let closing = Task { await stage.rooms.close() }
            await stage.rooms.states.until(\.isClosed)
            store.isFull = isFull
            store.open()
            await closing.value
            switch await sending.value {
            case .success(let receipt):
                #expect(!isFull && receipt.stage == .queued)
                await #expect(throws: RoomsError.self) { try await receipt.stored() }
            case .failure(let error):
                guard isFull, case .notQueued = error else { throw error }
            }
            #expect(try await store.room(RoomsPeer.room).outbox.count == (isFull ? 0 : 1))
            do throws(RoomsError) {
                try await room.send(ChatText("too late"))
                Issue.record("the message was accepted")
            } catch {
                guard case .notQueued(.closed) = error else { throw error }
            }
        }
    }

    @Test func `a receipt requested after the end waits for nothing`() async throws {
        let stage = RoomsStage()
        let room = try await stage.rooms.join("abc")
        try await room.send(ChatText("hi"))
        await stage.rooms.close()
        let receipt = try #require(room.outbox.first.flatMap { room.receipt(for: $0.id) })
        await #expect(throws: RoomsError.self) { try await receipt.stored() }
    }

    /// Lets the hub refuse a message for good.
    private func fail(_ receipt: Receipt, _ peer: RoomsPeer) async throws {
        try await peer.refuse(try await peer.publication())
        try await peer.ack(try await peer.publication(), at: 0)
        await receipt.until { $0.failure != nil }
    }

    @Test func `after a retry a receipt waits for the new outcome`() async throws {
        let (_, peer, room) = try await RoomsStage.live()
        let receipt = try await room.send(ChatText("hi"))
        try await fail(receipt, peer)
        try receipt.retry()
        async let place = receipt.stored()
        try await peer.ack(try await peer.publication(), at: 7)
        #expect(try await place.seq == 7)
        #expect(throws: RoomsError.self) { try receipt.retry() }
        let other = try await room.send(ChatText("ho"))
        try await fail(other, peer)
        try other.discard()
        await other.until { $0 == .discarded }
    }

    @Test func `a message whose retry cannot be written stays failed`() async throws {
        let store = GatedStore()
        let (_, peer, room) = try await RoomsStage.live(store: store)
        let receipt = try await room.send(ChatText("hi"))
        try await fail(receipt, peer)
        store.isFull = true
        try receipt.retry()
        await receipt.until { $0.failure?.code == .rights }
        await #expect(throws: RoomsError.self) { try await receipt.stored() }
        #expect(room.outbox.map(\.id) == [receipt.id])
    }

    @Test func `a wait ends on its timeout, on cancellation, or with the rooms`() async throws {
        let (stage, _, room) = try await RoomsStage.live()
        let receipt = try await room.send(ChatText("hi"))
        let late = Task { try await receipt.stored(within: .seconds(3)) }
        await #expect(throws: RoomsError.self) {
            while await stage.clock.nextSleep() != .seconds(3) {}
            stage.clock.advance(by: .seconds(3))
            _ = try await late.value
        }
        let cancelled = Task { () async -> RoomsError? in
            do throws(RoomsError) {
                try await receipt.stored()
                return nil
            } catch { return error }
        }
        cancelled.cancel()
        guard case .cancelled = await cancelled.value else { throw RoomsPeer.Mismatch() }
        let ended = Task { () async -> RoomsError? in
            do throws(RoomsError) {
                try await receipt.stored()
                return nil
            } catch { return error }
        }
        await stage.rooms.close()
        guard case .closed = await ended.value else { throw RoomsPeer.Mismatch() }
        await #expect(throws: RoomsError.self) { try await room.send(ChatText("too late")) }
    }

    @Test func `edits, deletions and reactions are messages that refer to another`() async throws {
        let (_, peer, room) = try await RoomsStage.live([.said(1)])
        try await room.edit(1, to: ChatText("other"))
        let edit = try await peer.publication().content
        #expect(edit?.type == "holdfast.edit" && edit?.about == Reference(kind: "edit", seq: 1))
        #expect(edit?.payload == .json(Array(#"{"text":"other"}"#.utf8)))
        try await room.react(to: 1, "👍", on: false)
        let reaction = try await peer.publication().content
        #expect(reaction?.type == "holdfast.react" && reaction?.about == Reference(kind: "react", seq: 1))
        #expect(reaction?.payload == .json(Array(#"{"key":"👍","on":false}"#.utf8)))
        try await room.delete(1)
        #expect(try await peer.publication().content?.about == Reference(kind: "delete", seq: 1))
    }
}

extension RoomsState {
    var isClosed: Bool { if case .closed = self { true } else { false } }
}
