import MachineCore
import ProtocolCore
import RoomCore
import Testing

/// A rooms client with its own time.
///
/// It records its effects and offers short helpers for its inputs.
struct ClientBench {
    var machine: RoomsMachine
    var now = Moment.start
    /// The effects that no test has taken yet.
    var effects: [RoomsEffect] = []
    /// How often a connection became ready.
    var readies = 0
    /// The hub's clock at the start.
    static let noon: Int64 = 1_800_000_000_000
    static let device = DeviceID(Bits128(high: 1, low: 2))

    /// The hello frame that a client sends first.
    static func hello(_ joins: ClientFrame.Join...) -> ClientFrame {
        .hello(ClientFrame.Hello(versions: [1], device: device, token: "t", joins: joins))
    }
    static let ann = UserName("ann")!
    static let bob = UserName("bob")!
    static let abc = RoomName("abc")!
    static let epoch: UInt64 = 0xE1

    init(policy: RoomsPolicy = RoomsPolicy(), seed: UInt64 = 1, waiting: [RoomName] = []) {
        machine = RoomsMachine(policy: policy, seed: seed)
        handle(.storeOpened(Self.device, keeps: .max, waiting: waiting), .calendar(Self.noon))
    }

    mutating func handle(_ inputs: RoomsInput...) { for input in inputs { machine.handle(input, at: now, into: &effects) } }
    mutating func handle(_ commands: RoomsCommand...) { for command in commands { handle(.command(command)) } }
    mutating func receive(_ frames: HubFrame...) { for frame in frames { handle(.received(frame)) } }

    /// Lets time pass and wakes the machine at each of its deadlines.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let deadline = machine.deadline, deadline <= end {
            now = max(now, deadline)
            machine.wake(at: now, into: &effects)
        }
        now = end
    }

    /// The effects since the last call.
    ///
    /// It counts and leaves out the effect that marks a connection as ready.
    mutating func takeEffects() -> [RoomsEffect] {
        defer { effects = [] }
        readies += effects.count { $0 == .ready }
        return effects.filter { $0 != .ready }
    }
    mutating func sent() -> [ClientFrame] { takeEffects().compactMap { if case .send(let frame) = $0 { frame } else { nil } } }
    mutating func news() -> [RoomsNews] { takeEffects().compactMap { if case .event(.news(let news)) = $0 { news } else { nil } } }

    /// The transactions that the machine ordered since the last call.
    var commits: [(number: Int64, changes: [StoreChange])] {
        effects.compactMap { if case .event(.commit(let number, let changes)) = $0 { (number, changes) } else { nil } }
    }

    /// Commits all ordered transactions, and those that follow from their results.
    mutating func write() {
        while let commit = commits.first(where: { !written.contains($0.number) }) {
            written.insert(commit.number)
            handle(.committed(commit.number))
        }
    }
    var written: Set<Int64> = []

    mutating func load(_ stored: StoredRoom = StoredRoom(), _ room: RoomName = Self.abc) { handle(.loaded(room, stored)) }

    mutating func open() { handle(.opened(RoomsGreeting(token: "t"))) }
    mutating func welcome(_ change: (inout HubFrame.Welcome) -> Void = { _ in }) {
        var welcome = HubFrame.Welcome(
            version: 1, connection: "c1", user: Self.ann, now: Self.noon, expires: 0, window: 90 * 86_400_000, limits: RoomsLimits())
        change(&welcome)
        receive(.welcome(welcome))
    }

    /// A room that is joined and live, with this stored state and this state frame from the hub.
    static func live(
        policy: RoomsPolicy = RoomsPolicy(), stored: StoredRoom = StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1),
        request: JoinRequest = JoinRequest(), rights: RoomRights = .member, high: Int64? = nil, base: Int64 = 1
    ) -> ClientBench {
        var bench = ClientBench(policy: policy)
        bench.handle(.join(abc, request))
        bench.load(stored)
        bench.open()
        bench.welcome()
        bench.receive(
            .state(
                after: stored.cursor.seq, base: base, high: high ?? (stored.outbox.first?.publication.cseq ?? stored.next) - 1,
                rights: rights))
        bench.write()
        _ = bench.takeEffects()
        return bench
    }

    mutating func submit(_ numbers: UInt64..., to room: RoomName = Self.abc) {
        for number in numbers { handle(.submit(room, .of(number), sent: Self.noon, .text)) }
    }
}

extension MessageID {
    static func of(_ number: UInt64) -> MessageID { MessageID(Bits128(high: 0, low: number)) }
}

extension Publication.Content {
    static let text = Publication.Content(type: "chat.text", payload: .json(Array("{}".utf8)))
}

extension Entry {
    /// An entry of another device.
    ///
    /// With a `cseq` it is an entry of this device.
    static func of(_ seq: Int64, own cseq: Int64? = nil, id: UInt64? = nil, user: UserName? = nil) -> Entry {
        Entry(
            seq: seq, id: .of(id ?? UInt64(seq) + 1000),
            device: cseq == nil ? DeviceID(Bits128(high: 9, low: 9)) : ClientBench.device,
            cseq: cseq ?? seq, user: user ?? (cseq == nil ? ClientBench.bob : ClientBench.ann), at: ClientBench.noon,
            sent: ClientBench.noon,
            type: "chat.text", payload: .json([0x31]))
    }
}

extension HubFrame {
    /// The hub's answer to a join: these entries, which follow a sequence number.
    static func state(
        after seq: Int64, _ items: [Entry] = [], head: Int64? = nil, epoch: UInt64 = ClientBench.epoch, base: Int64 = 1,
        snapshot: Bool = false, more: Bool = false, high: Int64 = 0, highID: MessageID? = nil, rights: RoomRights = .member,
        reads: [ReadMarker] = [], room: RoomName = ClientBench.abc
    ) -> HubFrame {
        let to = seq + Int64(items.count)
        return .state(
            RoomState(
                room: room, epoch: epoch, from: seq + 1, to: to, head: head ?? to, base: base, items: items, isSnapshot: snapshot,
                hasMore: more, high: high, highID: highID, rights: rights, reads: reads))
    }
    static func ack(_ cseq: Int64, seq: Int64, id: UInt64?, dup: Bool = false) -> HubFrame {
        .acks(
            ClientBench.abc, epoch: ClientBench.epoch,
            [Ack(cseq: cseq, seq: seq, at: ClientBench.noon, id: id.map { .of($0) }, isDuplicate: dup)])
    }
    static func entries(_ items: Entry..., epoch: UInt64 = ClientBench.epoch) -> HubFrame {
        .entries(ClientBench.abc, epoch: epoch, items)
    }
}

extension RoomsInput {
    static var lost: RoomsInput { .lost(unsent: []) }
}
