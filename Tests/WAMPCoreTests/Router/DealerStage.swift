import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// A dealer with sessions that count their requests.
struct DealerStage {
    var dealer: Dealer
    var now = Moment.start
    private var requests: [WAMPID: WAMPID] = [:]

    init(_ change: (inout RouterPolicy) -> Void = { _ in }) {
        var policy = RouterPolicy()
        change(&policy)
        dealer = Dealer(policy: policy, seed: 7)
    }

    mutating func next(of session: Participant) -> WAMPID {
        requests[session.session, default: 0] += 1
        return requests[session.session] ?? 0
    }

    /// The violation that a message causes, or nil; the message must have no effects.
    mutating func verdict(_ body: (inout Dealer, Moment, inout [RouterEffect]) -> String?) -> String? {
        var effects: [RouterEffect] = []
        let verdict = body(&dealer, now, &effects)
        return effects.isEmpty ? verdict : "\(effects)"
    }

    mutating func ask(_ body: (inout Dealer, Moment, inout [RouterEffect]) -> Void) -> [RouterEffect] {
        var effects: [RouterEffect] = []
        body(&dealer, now, &effects)
        return effects
    }

    mutating func register(_ uri: String, _ options: ValueMap = [:], by callee: Participant) -> [RouterEffect] {
        let request = next(of: callee)
        return ask { _ = $0.register(request, options, uri, by: callee, at: $1, into: &$2) }
    }

    /// Registers successfully and returns the id.
    mutating func offer(_ uri: String, _ options: ValueMap = [:], by callee: Participant) throws -> WAMPID {
        let effects = register(uri, options, by: callee)
        guard case .send(.registered(_, let registration), callee.connection)? = effects.last else {
            throw Unexpected(effects: effects)
        }
        return registration
    }

    /// Calls with the next request id, or with this one.
    mutating func call(
        _ uri: String, _ options: ValueMap = [:], _ arguments: WAMPArguments = .none, again request: WAMPID? = nil, by caller: Participant
    ) -> [RouterEffect] {
        let number = request ?? next(of: caller)
        return ask { _ = $0.call(number, options, uri, arguments, isNew: request == nil, by: caller, at: $1, into: &$2) }
    }

    mutating func yield(
        _ request: WAMPID, _ options: ValueMap = [:], _ arguments: WAMPArguments = .none, by callee: Participant
    ) -> [RouterEffect] {
        ask { _ = $0.yield(request, options, arguments, by: callee, at: $1, into: &$2) }
    }

    mutating func cancel(_ request: WAMPID, _ mode: CallOptions.CancelMode?, by caller: Participant) -> [RouterEffect] {
        let options: ValueMap = mode.map { ["mode": .text($0.rawValue)] } ?? [:]
        return ask { _ = $0.cancel(request, options, by: caller, at: $1, into: &$2) }
    }

    mutating func revoke(_ registration: WAMPID) -> (wasThere: Bool, effects: [RouterEffect]) {
        var effects: [RouterEffect] = []
        return (dealer.revoke(registration, reason: "moved", into: &effects), effects)
    }

    mutating func fail(
        _ request: WAMPID, _ uri: String, _ arguments: WAMPArguments = .none, by callee: Participant
    ) -> [RouterEffect] {
        ask { _ = $0.fail(request, uri: uri, arguments, by: callee, into: &$2) }
    }

    mutating func leave(_ session: Participant) -> [RouterEffect] { ask { $0.leave(session.session, into: &$2) } }

    mutating func pass(_ time: Duration) -> [RouterEffect] {
        now = now + time
        return ask { $0.wake(at: $1, into: &$2) }
    }

    struct Unexpected: Error { let effects: [RouterEffect] }
}

extension Participant {
    /// A session with all features, or with these.
    static func peer(_ number: UInt64, _ abilities: PeerAbilities = .everything) -> Participant {
        Participant(
            connection: RouterConnection(number), session: 1000 + number, authID: "user\(number)", authRole: "role", abilities: abilities)
    }
}

extension PeerAbilities {
    static let everything = PeerAbilities(rawValue: .max)
}

extension [RouterEffect] {
    /// The receiver of each message.
    var receivers: [RouterConnection] {
        compactMap { if case .send(_, let connection) = $0 { connection } else { nil } }
    }

    /// The types of the messages.
    var types: [UInt64] {
        compactMap { if case .send(let message, _) = $0 { message.type } else { nil } }
    }

    /// The URIs of the errors.
    var errors: [String] {
        compactMap { if case .send(.error(_, _, _, let uri, _), _) = $0 { uri } else { nil } }
    }

    /// The details of the invocations.
    var invocations: [ValueMap] {
        compactMap { if case .send(.invocation(_, _, let details, _), _) = $0 { details } else { nil } }
    }
}
