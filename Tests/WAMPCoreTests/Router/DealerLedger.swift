import CodecCore
import Testing

@testable import WAMPCore

/// Tracks calls and invocations from the messages sent to sessions.
///
/// It records every violation of the dealer's invariants.
struct DealerLedger: Hashable {
    struct Invocation: Hashable {
        let callee: WAMPID
        let request: WAMPID
    }

    private(set) var violations: [String] = []
    /// The pending calls, by caller.
    private(set) var calls: [WAMPID: Set<WAMPID>] = [:]
    /// The pending invocations, by callee; true if the callee was interrupted.
    private(set) var invocations: [Invocation: Bool] = [:]
    private var numbers: [WAMPID: WAMPID] = [:]
    private var living: [RouterConnection: WAMPID] = [:]

    var isSettled: Bool { calls.values.allSatisfy(\.isEmpty) }

    mutating func report(_ violation: String) { violations.append(violation) }

    mutating func joined(_ session: Participant) { living[session.connection] = session.session }

    mutating func left(_ session: Participant) {
        living[session.connection] = nil
        calls[session.session] = nil
        invocations = invocations.filter { $0.key.callee != session.session }
    }

    mutating func called(_ request: WAMPID, by caller: Participant) { calls[caller.session, default: []].insert(request) }

    mutating func answered(_ request: WAMPID, by callee: Participant) {
        invocations[Invocation(callee: callee.session, request: request)] = nil
    }

    /// The pending invocations of a session, in order.
    func waiting(of callee: Participant) -> [WAMPID] { invocations.keys.filter { $0.callee == callee.session }.map(\.request).sorted() }

    mutating func take(_ effects: [RouterEffect]) {
        for case .send(let message, let connection) in effects {
            guard let session = living[connection] else {
                violations.append("\(message) to a session that has left")
                continue
            }
            take(message, for: session)
        }
    }

    private mutating func take(_ message: WAMPMessage, for session: WAMPID) {
        switch message {
        case .result(let request, let details, _):
            if calls[session]?.contains(request) != true { violations.append("RESULT of \(request), which is not pending") }
            if details["progress"]?.bool != true { calls[session]?.remove(request) }
        case .error(.call, let request, _, _, _):
            if calls[session]?.remove(request) == nil { violations.append("ERROR of \(request), which is not pending") }
        case .invocation(let request, _, _, _):
            let key = Invocation(callee: session, request: request)
            if request == numbers[session, default: 0] + 1 {
                (numbers[session], invocations[key]) = (request, false)
            } else if let isInterrupted = invocations[key] {
                if isInterrupted { violations.append("more input of \(request), which was interrupted") }
            } else if request > numbers[session, default: 0] {
                violations.append("INVOCATION \(request) after \(numbers[session, default: 0])")
            } else {
                violations.append("more input of \(request), which has been answered")
            }
        case .interrupt(let request, _):
            let key = Invocation(callee: session, request: request)
            switch invocations[key] {
            case nil: violations.append("INTERRUPT of \(request), which has been answered")
            case true?: violations.append("INTERRUPT of \(request) again")
            case false?: invocations[key] = true
            }
        default: break
        }
    }
}
