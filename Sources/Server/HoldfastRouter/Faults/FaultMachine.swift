import DequeModule
import MachineCore
import WAMPCore

/// Injects faults for tests: filters the messages between clients and the router's machine, in both directions.
struct FaultMachine: Machine {
    /// A message on its way.
    struct Transfer: Hashable, Sendable {
        enum Load: Hashable, Sendable {
            case message(WAMPMessage)
            case undecodable(WAMPFormatError)
            case close(RouterClosing)
            /// A client's request is lost or late. The machine must know that it was sent, because requests are numbered.
            case lost(WAMPMessage)
            /// It arrives, although its number was already counted.
            case again(WAMPMessage)
        }
        let connection: RouterConnection
        let isFromClient: Bool
        /// Nil before the client has joined.
        let session: WAMPID?
        var load: Load

        /// The form in which it passes if it is lost; nil if nothing passes.
        fileprivate var lost: Transfer? { request.map { with(.lost($0)) } }
        /// The form in which it passes after its number was counted.
        fileprivate var again: Transfer { request.map { with(.again($0)) } ?? self }

        private var request: WAMPMessage? {
            guard isFromClient, case .message(let message) = load, message.countedRequest != nil else { return nil }
            return message
        }

        private func with(_ load: Load) -> Transfer {
            var other = self
            other.load = load
            return other
        }
    }
    enum Input: Sendable {
        case add(RouterFault, number: UInt64)
        case remove(number: UInt64)
        case passing(Transfer)
        /// Stalled and delayed messages continue.
        case release
        case closed(RouterConnection)
    }
    enum Effect: Hashable, Sendable {
        case pass(Transfer)
        case cut(RouterConnection)
        /// A fault has affected all the messages that it was meant for.
        case over(number: UInt64)
    }
    /// The maximum number of held messages per client and direction; more cut its connection.
    static let mostHeld = 10_000

    private struct Scripted {
        let number: UInt64
        var fault: RouterFault
    }
    /// The messages of one client and direction that wait.
    private struct Lane {
        let connection: RouterConnection
        let isFromClient: Bool
        /// Nil to wait until they are released.
        var until: Moment?
        var held: Deque<Transfer> = []
    }
    private struct DelayedMessage {
        let at: Moment
        let passage: Transfer
    }

    private var faults: [Scripted] = []
    private var lanes: [Lane] = []
    private var late: [DelayedMessage] = []

    /// Whether there are no faults and no held messages, so that messages need not be filtered.
    var isIdle: Bool { faults.isEmpty && lanes.isEmpty && late.isEmpty }

    var deadline: Moment? { (lanes.compactMap(\.until) + late.map(\.at)).min() }

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .add(let fault, let number):
            guard fault.times > 0 else { return effects.append(.over(number: number)) }
            faults.append(Scripted(number: number, fault: fault))
        case .remove(let number):
            if faults.contains(where: { $0.number == number }) { effects.append(.over(number: number)) }
            faults.removeAll { $0.number == number }
        case .passing(let passage): pass(passage, now, &effects)
        case .release:
            let released = lanes
            lanes = []
            for lane in released { effects += lane.held.map { .pass($0) } }
        case .closed(let connection): forget(connection)
        }
    }

    mutating func wake(at now: Moment, into effects: inout [Effect]) {
        while let index = lanes.firstIndex(where: { $0.until.map { $0 <= now } ?? false }) {
            effects += lanes.remove(at: index).held.map { .pass($0) }
        }
        effects += late.filter { $0.at <= now }.map { .pass($0.passage) }
        late.removeAll { $0.at <= now }
    }

    private mutating func pass(_ passage: Transfer, _ now: Moment, _ effects: inout [Effect]) {
        guard let outcome = outcome(for: passage, &effects) else { return forward(passage, &effects) }
        switch outcome {
        case .drop: passage.lost.map { forward($0, &effects) }
        case .double:
            forward(passage, &effects)
            forward(passage.again, &effects)
        case .delay(let time): hold(passage, until: now + time, &effects)
        case .stall: hold(passage, until: nil, &effects)
        case .late(let time):
            passage.lost.map { forward($0, &effects) }
            late.append(DelayedMessage(at: now + time, passage: passage.again))
        case .cut: cut(passage.connection, &effects)
        }
    }

    /// Returns the outcome of the first matching fault, and counts it as used.
    private mutating func outcome(for passage: Transfer, _ effects: inout [Effect]) -> RouterFault.Outcome? {
        guard case .message(let message) = passage.load else { return nil }
        for index in faults.indices where faults[index].fault.matches(message, passage) {
            guard faults[index].fault.skipping == 0 else {
                faults[index].fault.skipping -= 1
                continue
            }
            faults[index].fault.times -= 1
            let scripted = faults[index]
            if scripted.fault.times == 0 {
                faults.remove(at: index)
                effects.append(.over(number: scripted.number))
            }
            return scripted.fault.outcome
        }
        return nil
    }

    private mutating func forward(_ passage: Transfer, _ effects: inout [Effect]) {
        guard let index = lane(of: passage) else { return effects.append(.pass(passage)) }
        guard lanes[index].held.count < Self.mostHeld else { return cut(passage.connection, &effects) }
        lanes[index].held.append(passage)
    }

    private mutating func hold(_ passage: Transfer, until: Moment?, _ effects: inout [Effect]) {
        if let index = lane(of: passage) {
            // Two delays do not add up; a stall takes precedence.
            if let other = lanes[index].until { lanes[index].until = until.map { max($0, other) } }
        } else {
            lanes.append(Lane(connection: passage.connection, isFromClient: passage.isFromClient, until: until))
        }
        forward(passage, &effects)
    }

    private func lane(of passage: Transfer) -> Int? {
        lanes.firstIndex { $0.connection == passage.connection && $0.isFromClient == passage.isFromClient }
    }

    private mutating func cut(_ connection: RouterConnection, _ effects: inout [Effect]) {
        forget(connection)
        effects.append(.cut(connection))
    }

    private mutating func forget(_ connection: RouterConnection) {
        lanes.removeAll { $0.connection == connection }
        late.removeAll { $0.passage.connection == connection }
    }
}

extension RouterFault {
    fileprivate func matches(_ message: WAMPMessage, _ passage: FaultMachine.Transfer) -> Bool {
        guard message.type == kind.rawValue else { return false }
        if let isFromClient, isFromClient != passage.isFromClient { return false }
        if let session, session != passage.session { return false }
        if let uri, uri != message.uri { return false }
        return true
    }
}

extension WAMPMessage {
    /// The URI that it contains: a topic, a procedure, an error, a reason or a realm.
    var uri: String? {
        switch self {
        case .publish(_, _, let uri, _), .subscribe(_, _, let uri), .call(_, _, let uri, _), .register(_, _, let uri): uri
        case .error(_, _, _, let uri, _), .abort(_, let uri, _), .goodbye(_, let uri, _): uri
        case .hello(let realm, _): realm
        default: nil
        }
    }
}
