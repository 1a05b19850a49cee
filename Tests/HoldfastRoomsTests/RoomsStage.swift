import Holdfast
import HoldfastRooms
import HoldfastTesting
import ProtocolStage
import RoomCore
import RoomsWire
import Testing
import WebSocketCore

/// Rooms on a ``ProtocolStage``: the test is the hub.
struct RoomsStage: Sendable {
    static let epoch: UInt64 = 0xE9
    static let now: Int64 = 1_800_000_000_000

    let base = ProtocolStage { RoomsOptions.prepare(&$0) }
    let rooms: Rooms
    var clock: ManualClock { base.clock }

    /// - Parameter ahead: By how many milliseconds the client's calendar is before the hub's.
    init(store: some RoomStore = MemoryRoomStore(), options: RoomsOptions = RoomsOptions(), ahead: Int64 = 0, token: TokenProvider? = nil) {
        let clock = base.clock
        rooms = Rooms(
            over: base.socket, store: store, options: options, clock: clock,
            calendar: { Self.now + ahead + Int64(clock.now.offset / .milliseconds(1)) }, seed: 7, token: token)
    }

    /// Answers the next attempt; the hub has not been told anything yet.
    func answer(_ encoding: RoomsEncoding = .json) async throws -> RoomsPeer {
        RoomsPeer(transport: try await base.answer(encoding.subprotocol), encoding: encoding)
    }

    /// Lets time pass until the client connects again; the hub has not been told anything yet.
    func answerAgain(_ encoding: RoomsEncoding = .json) async throws -> RoomsPeer {
        RoomsPeer(transport: try await base.answerAgain(encoding.subprotocol), encoding: encoding)
    }

    /// Answers the next attempt, and welcomes.
    func accept(_ encoding: RoomsEncoding = .json, expires: Int64 = 0) async throws -> (peer: RoomsPeer, hello: ClientFrame.Hello) {
        let peer = try await answer(encoding)
        guard case .hello(let hello)? = try await peer.next() else { throw RoomsPeer.Mismatch() }
        try await peer.welcome(expires: expires)
        return (peer, hello)
    }

    /// Welcomes the next connection, and waits for the join of the room.
    func resume(_ encoding: RoomsEncoding = .json) async throws -> RoomsPeer {
        let (peer, hello) = try await accept(encoding)
        if hello.joins.isEmpty { _ = try await peer.next { if case .join = $0 { true } else { false } } }
        return peer
    }

    /// A room that was joined and is live, with these entries stored.
    static func live(
        _ entries: [Entry] = [], store: some RoomStore = MemoryRoomStore()
    ) async throws -> (stage: RoomsStage, peer: RoomsPeer, room: Room) {
        let stage = RoomsStage(store: store)
        let room = try await stage.rooms.join("abc")
        let peer = try await stage.resume()
        try await peer.state(entries)
        await room.until(\.isLive)
        return (stage, peer, room)
    }
}

extension Room {
    /// Waits until the room is as it should be; only the suite's time limit ends a wait that is in vain.
    func until(_ isReached: (RoomStatus) -> Bool) async { for await status in statuses where isReached(status) { return } }
}

extension Receipt {
    /// Waits for a stage; only the suite's time limit ends a wait that is in vain.
    func until(_ isReached: (DeliveryStage) -> Bool) async { for await stage in stagesUntilSeen where isReached(stage) { return } }
}

/// The hub's end of a connection.
struct RoomsPeer: Sendable {
    struct Mismatch: Error {}
    static let room = RoomName("abc").unsafelyUnwrapped
    static let ann = UserName("ann").unsafelyUnwrapped
    static let bob = UserName("bob").unsafelyUnwrapped

    let transport: MemoryTransport
    let encoding: RoomsEncoding

    func send(_ frame: HubFrame) async throws { try await transport.send(encoding.encode(frame)) }

    /// The next frame of the client; nil after the end.
    func next() async throws -> ClientFrame? {
        while case .message(let message)? = try await transport.receive() {
            let frame: ClientFrame? =
                switch message {
                case .text(let text): try ClientFrame.decode(json: Array(text.utf8))
                case .binary(let bytes): try bytes.withUnsafeBytes { try encoding.decodeClientFrame($0, isText: false) }
                }
            if let frame { return frame }
        }
        return nil
    }

    /// The next frame that fits.
    func next(_ fits: (ClientFrame) -> Bool) async throws -> ClientFrame? {
        while let frame = try await next() { if fits(frame) { return frame } }
        return nil
    }

    /// The next publication.
    func publication() async throws -> Publication {
        while let frame = try await next() { if case .publish(_, let publication) = frame { return publication } }
        throw Mismatch()
    }

    func welcome(expires: Int64 = 0) async throws {
        try await send(
            .welcome(
                .init(
                    version: 1, connection: "c1", user: Self.ann, now: RoomsStage.now, expires: expires, window: 7_776_000_000,
                    limits: RoomsLimits())))
    }

    /// Answers a join with these entries, which the client is to take as they are.
    func state(
        _ entries: [Entry] = [], head: Int64? = nil, isSnapshot: Bool = true, epoch: UInt64 = RoomsStage.epoch, high: Int64 = 0,
        highID: MessageID? = nil, reads: [HubFrame.ReadMarker] = [], base: Int64 = 1, after cursor: Int64 = 0
    ) async throws {
        let last = entries.last?.seq ?? cursor
        try await send(
            .state(
                .init(
                    room: Self.room, epoch: epoch, from: entries.first?.seq ?? last + 1, to: last, head: head ?? last, base: base,
                    items: entries, isSnapshot: isSnapshot, hasMore: false, high: high, highID: highID, rights: .member, reads: reads)))
    }

    /// Answers a question for older entries.
    func page(_ entries: [Entry], for question: ClientFrame.History, base: Int64) async throws {
        try await send(.page(.init(reference: question.reference, room: Self.room, epoch: RoomsStage.epoch, items: entries, base: base)))
    }

    /// Tells who is present.
    func members(_ members: [PresentMember]) async throws {
        let total = Int64(members.count)
        try await send(
            .members(.init(room: Self.room, node: "n", incarnation: 1, version: 1, isFull: true, total: total, members: members, gone: [])))
    }

    func entries(_ entries: [Entry]) async throws { try await send(.entries(Self.room, epoch: RoomsStage.epoch, entries)) }

    /// Stores a publication, as the hub would.
    func ack(_ publication: Publication, at seq: Int64, isDuplicate: Bool = false) async throws {
        try await send(
            .acks(
                Self.room, epoch: RoomsStage.epoch,
                [.init(cseq: publication.cseq, seq: seq, at: RoomsStage.now, id: publication.id, isDuplicate: isDuplicate)]))
    }

    /// Refuses a publication for good.
    func refuse(_ publication: Publication, _ code: Refusal.Code = .rights) async throws {
        try await send(.refusal(Refusal(code, room: Self.room, cseq: publication.cseq, "not here")))
    }
}

extension Entry {
    private static let device = DeviceID("00000000000000000000000000000b0b").unsafelyUnwrapped

    /// Something that bob said.
    static func said(_ seq: Int64, _ text: String? = nil, by user: UserName = RoomsPeer.bob) -> Entry {
        Entry(
            seq: seq, id: MessageID(Bits128(high: 0x7000, low: 1 << 63 | UInt64(seq))), device: device, cseq: seq, user: user,
            at: RoomsStage.now, sent: RoomsStage.now, type: ChatText.typeName,
            payload: .json(Array(#"{"text":"\#(text ?? "\(seq)")"}"#.utf8)))
    }

    /// A publication as it comes back.
    static func of(_ publication: Publication, _ seq: Int64, by device: DeviceID) throws -> Entry {
        let content = try #require(publication.content)
        return Entry(
            seq: seq, id: publication.id, device: device, cseq: publication.cseq, user: RoomsPeer.ann, at: RoomsStage.now,
            sent: publication.sent, type: content.type, about: content.about, payload: content.payload)
    }
}

extension ClientFrame {
    static func decode(json bytes: [UInt8]) throws -> ClientFrame? { try bytes.withUnsafeBytes { try ClientFrame.decode(json: $0) } }
}
