import CodecCore
import MachineCore

/// The procedures of a realm, and the calls of them that wait.
///
/// Source: WAMP, "Remote Procedure Calls". Everything that it holds belongs to a session, and goes with it.
struct Dealer: Sendable {
    let policy: RouterPolicy
    var registrations: [WAMPID: Registration] = [:]
    var procedures = PatternIndex<WAMPID>()
    /// The sessions that offer or have called something.
    var members: [WAMPID: Member] = [:]
    /// Timeouts, and ends of patience.
    var alarms = Alarms<CallKey>()
    var chance: SplitMix64
    /// Counts the realm's invocations; see ``RouterPolicy/Quirks/numbersInvocationsByRealm``.
    var lastInvocation: WAMPID = 0
    /// What has happened to registrations and is not told yet.
    var metaEvents: [MetaEvent] = []

    /// How many bytes its registrations take, and the calls that count, about.
    var keptBytes = 0
    /// Sessions of which a call that counted has ended, since that was asked for.
    private var relieved: Set<WAMPID> = []
    /// So many waiting calls of a session cost nothing: the usual call is not to pay for the account.
    static let freeCalls = 64

    init(policy: RouterPolicy, seed: UInt64) { (self.policy, chance) = (policy, SplitMix64(seed: seed)) }

    /// Whether it holds nothing of any session.
    var isEmpty: Bool { registrations.isEmpty && procedures.isEmpty && members.isEmpty && alarms.next == nil }

    /// How many bytes of those are a session's.
    func keptBytes(by session: WAMPID) -> Int { members[session].map { $0.offerBytes + $0.callBytes } ?? 0 }

    /// What one more call of a session takes, about; 0: it is one of those that cost nothing.
    mutating func weight(ofCall procedure: String, by session: WAMPID) -> Int {
        members[session]?.waiting ?? 0 < Self.freeCalls ? 0 : 512 + 2 * procedure.utf8.count
    }

    /// The sessions that have less kept than when this was last asked, for calls of theirs have ended.
    mutating func takeRelieved() -> Set<WAMPID> {
        guard !relieved.isEmpty else { return [] }
        defer { relieved = [] }
        return relieved
    }

    /// When to wake it if nothing else happens first.
    var deadline: Moment? { alarms.next }

    /// How many calls wait for their results.
    var waitingCalls: Int { members.values.reduce(0) { $0 + $1.calls.count } }

    mutating func wake(at now: Moment, into effects: inout [RouterEffect]) {
        while let key = alarms.due(at: now) { expire(key, into: &effects) }
    }

    /// Answers a request that is not granted, or returns how it broke the protocol.
    func answer(
        _ fault: Fault, _ kind: WAMPRequestKind, _ request: WAMPID, of participant: Participant, into effects: inout [RouterEffect]
    ) -> String? {
        switch fault {
        case .breach(let words): return words
        case .refused(let uri, let words):
            effects.append(.refuse(kind, request, of: participant, uri, words))
            return nil
        }
    }

    /// Ends a call; nobody is told.
    @discardableResult
    mutating func remove(_ key: CallKey) -> Call? {
        guard let call = members[key.caller]?.calls.removeValue(forKey: key.request) else { return nil }
        if call.bytes > 0 {
            members[key.caller]?.callBytes -= call.bytes
            keptBytes -= call.bytes
            relieved.insert(key.caller)
        }
        if call.timeout != nil || call.isInterrupted { alarms.cancel(key) }
        if call.isOpen { members[key.caller]?.abandon(key.request, limit: policy.maximumCalls) }
        release(call.invocation)
        for invocation in call.others { release(invocation) }
        return call
    }

    /// Forgets an invocation: what the callee still says of it is ignored.
    mutating func release(_ invocation: Invocation) {
        members[invocation.callee]?.release(invocation.request, through: invocation.registration)
    }

    /// Tells all callees of a call to stop, if they can be told.
    func interrupt(_ call: Call, _ mode: CallOptions.CancelMode, _ reason: String, into effects: inout [RouterEffect]) {
        interrupt(call.invocation, mode, reason, into: &effects)
        for invocation in call.others { interrupt(invocation, mode, reason, into: &effects) }
    }

    func interrupt(
        _ invocation: Invocation, _ mode: CallOptions.CancelMode, _ reason: String, into effects: inout [RouterEffect]
    ) {
        guard let callee = members[invocation.callee]?.participant, callee.abilities.contains(.interrupts) else { return }
        let options: ValueMap = ["mode": .text(mode.rawValue), "reason": .text(reason)]
        effects.append(.send(.interrupt(request: invocation.request, options: options), to: callee.connection))
    }
}
