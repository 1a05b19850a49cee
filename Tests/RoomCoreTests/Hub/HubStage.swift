import MachineCore
import RoomCore
import Testing

/// A hub with a model log, a bus and a token check.
///
/// It records the frames sent to each connection.
struct HubStage {
    var hub: HubMachine
    var log = ModelLog()
    private(set) var now = Moment.start
    /// The frames sent to each connection since the last call of ``takeFrames(_:)``.
    private(set) var received: [ConnectionID: [HubFrame]] = [:]
    private(set) var closed: [ConnectionID: UInt16] = [:]
    private(set) var answers: [ServerRequest: ServerAnswer] = [:]
    /// The messages sent to other nodes.
    private(set) var told: [BusMessage] = []
    /// Orders that wait while ``holdsLog`` is set.
    var orders: [LogOrder] = []
    /// Whether the log waits until the test lets it answer.
    var holdsLog = false
    /// Whether token checks wait, too.
    var holdsTokens = false
    /// The time at which tokens expire.
    var expires: Int64?
    var grants = [Grant("*", [.read, .write, .presence])]
    private var numbers: UInt64 = 0
    /// The inputs to handle next.
    ///
    /// Inputs that follow from effects are appended.
    private var inbox: [HubInput] = []
    private var isAtWork = false
    /// The arrays of members that the hub passed with fan-outs.
    private(set) var handedOver: [[ConnectionID]] = []

    /// 2026-01-01, in milliseconds since 1970.
    static let newYear: Int64 = 1_767_225_600_000

    /// The rooms whose logs the hub found to have gone back.
    private(set) var rewound: [RoomName] = []

    init(_ policy: HubPolicy = HubPolicy(), node: String = "n1", seed: UInt64 = 1, proofs: ProofKey? = nil) {
        hub = HubMachine(policy: policy, node: node, incarnation: 7, seed: seed, proofs: proofs)
        give(.calendar(Self.newYear))
    }

    // MARK: Inputs

    mutating func give(_ inputs: HubInput...) {
        inbox += inputs
        guard !isAtWork else { return }
        isAtWork = true
        while !inbox.isEmpty {
            let input = inbox.removeFirst()
            var effects: [HubEffect] = []
            hub.handle(input, at: now, into: &effects)
            carryOut(effects)
        }
        isAtWork = false
    }

    /// Lets time pass, from one deadline to the next.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let deadline = hub.deadline, deadline <= end {
            now = max(now, deadline)
            var effects: [HubEffect] = []
            hub.wake(at: now, into: &effects)
            isAtWork = true
            carryOut(effects)
            isAtWork = false
            give()
        }
        now = end
    }

    /// Lets the log answer all waiting orders, or `count` of them.
    mutating func answer(_ count: Int = .max) {
        var left = count
        while left > 0, !orders.isEmpty {
            let order = orders.removeFirst()
            left -= 1
            if let reply = log.carryOut(order) { give(.log(reply)) }
        }
    }

    private mutating func carryOut(_ effects: [HubEffect]) {
        for effect in effects {
            switch effect {
            case .send(let frame, let id): received[id, default: []].append(frame)
            case .fanOut(let frame, let ids):
                for id in ids { received[id, default: []].append(frame) }
                handedOver.append(ids)
            case .close(let id, let code, _): closed[id] = code
            case .authenticate(let id, let token):
                if !holdsTokens { identify(id, token) }
            case .log(let order): orders.append(order)
            case .notify(let message):
                told.append(message)
                give(.heard(message))
            case .answer(let request, let answer): answers[request] = answer
            case .rewound(_, let room): rewound.append(room)
            }
        }
        if !holdsLog { answer() }
    }

    /// Authenticates a connection.
    ///
    /// The token is the user's name.
    mutating func identify(_ id: ConnectionID, _ token: String?) {
        if let token, let user = UserName(token) {
            give(.identified(id, Identity(user: user, grants: grants, expires: expires)))
        } else {
            give(.unidentified(id, Refusal(.token, "no token")))
        }
    }

    // MARK: Clients

    mutating func open(address: String = "10.0.0.1") -> ConnectionID {
        numbers += 1
        let id = ConnectionID(numbers)
        give(.opened(id, address: address))
        return id
    }

    /// A client that has been welcomed.
    ///
    /// The frames that it got are dropped.
    mutating func client(_ user: String, device: UInt64? = nil, address: String = "10.0.0.1") -> ConnectionID {
        let id = open(address: address)
        handle(id, .hello(.init(versions: [1], device: .numbered(device ?? id.number), token: user)))
        received[id] = nil
        return id
    }

    /// A client in a room that has its state.
    ///
    /// The frames that it got are dropped.
    mutating func member(_ user: String, of room: RoomName = .lobby, device: UInt64? = nil, presence: Bool = false) -> ConnectionID {
        let id = client(user, device: device)
        handle(id, .join(.init(room: room, wantsPresence: presence)))
        received[id] = nil
        return id
    }

    mutating func handle(_ id: ConnectionID, _ frames: ClientFrame..., bytes: Int = 100) {
        for frame in frames { give(.received(id, frame, bytes: bytes)) }
    }

    mutating func publish(_ id: ConnectionID, _ numbers: ClosedRange<Int64>, in room: RoomName = .lobby) {
        for cseq in numbers { handle(id, .publish(room, .numbered(cseq))) }
    }

    // MARK: Outputs

    /// The frames sent to a connection since the last call.
    mutating func takeFrames(_ id: ConnectionID) -> [HubFrame] { received.removeValue(forKey: id) ?? [] }

    mutating func takeBusMessages() -> [BusMessage] {
        defer { told = [] }
        return told
    }
}

extension DeviceID {
    static func numbered(_ number: UInt64) -> DeviceID { DeviceID(Hexadecimal.digits(0xD) + Hexadecimal.digits(number))! }
}

extension MessageID {
    static func numbered(_ number: Int64) -> MessageID { MessageID(Bits128(high: 0xA, low: UInt64(number))) }
}

extension EntryStamp {
    /// The stamp of a device's publication, stored at the start.
    static func numbered(_ cseq: Int64, device: UInt64 = 1) -> EntryStamp {
        EntryStamp(id: .numbered(cseq), device: .numbered(device), cseq: cseq, at: HubStage.newYear)
    }
}

extension RoomName {
    static let lobby = RoomName("lobby")!
}

extension Publication {
    static func numbered(_ cseq: Int64, sent: Int64 = HubStage.newYear, type: String = "chat.text", bytes: Int = 2) -> Publication {
        Publication(
            cseq: cseq, id: .numbered(cseq), sent: sent,
            content: .init(type: type, payload: .json(Array(repeating: UInt8(ascii: "1"), count: bytes))))
    }

    static func void(_ cseq: Int64) -> Publication { Publication(cseq: cseq, id: .numbered(cseq), sent: 0, content: nil) }
}

extension [HubFrame] {
    var states: [HubFrame.RoomState] { compactMap { if case .state(let state) = $0 { state } else { nil } } }
    /// The sequence numbers of the entries, in the order in which they came.
    var entries: [Int64] { flatMap { if case .entries(_, _, let items, _) = $0 { items.map(\.seq) } else { [Int64]() } } }
    var acks: [HubFrame.Ack] { flatMap { if case .acks(_, _, let acks) = $0 { acks } else { [HubFrame.Ack]() } } }
    var refusals: [Refusal] { compactMap { if case .refusal(let refusal) = $0 { refusal } else { nil } } }
    var codes: [Refusal.Code] { refusals.map(\.code) }
    var segments: [HubFrame.RoomMembers] { compactMap { if case .members(let segment) = $0 { segment } else { nil } } }
}
