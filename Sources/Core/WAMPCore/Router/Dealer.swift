import CodecCore
import MachineCore

/// The procedures of a realm, and their pending calls.
///
/// Source: WAMP, "Remote Procedure Calls". Everything in the dealer belongs to a session and is removed with it.
struct Dealer: Sendable {
    let policy: RouterPolicy
    var registrations: [WAMPID: Registration] = [:]
    var procedures = PatternIndex<WAMPID>()
    /// The sessions that have registered or called a procedure.
    var members: [WAMPID: Member] = [:]
    /// The timers of calls: timeouts and time limits for interrupts.
    var alarms = Alarms<CallKey>()
    var chance: SplitMix64
    /// The number of the realm's last invocation; see ``RouterPolicy/Quirks/numbersInvocationsByRealm``.
    var lastInvocation: WAMPID = 0
    /// The pending events about registrations for the meta API.
    var metaEvents: [MetaEvent] = []

    /// The approximate number of bytes of registrations and counted calls.
    var keptBytes = 0
    /// Sessions with a counted call that ended since the last `takeRelieved`.
    private var relieved: Set<WAMPID> = []
    /// The number of pending calls per session that are not counted, so that usual calls cause no accounting.
    static let freeCalls = 64

    init(policy: RouterPolicy, seed: UInt64) { (self.policy, chance) = (policy, SplitMix64(seed: seed)) }

    /// Whether the dealer holds nothing.
    var isEmpty: Bool { registrations.isEmpty && procedures.isEmpty && members.isEmpty && alarms.next == nil }

    /// Returns the number of bytes that count for a session.
    func keptBytes(by session: WAMPID) -> Int { members[session].map { $0.offerBytes + $0.callBytes } ?? 0 }

    /// Returns the approximate number of bytes of one more call; 0: it is not counted.
    mutating func weight(ofCall procedure: String, by session: WAMPID) -> Int {
        members[session]?.waiting ?? 0 < Self.freeCalls ? 0 : 512 + 2 * procedure.utf8.count
    }

    /// Returns the sessions that have fewer bytes kept since the last call, because calls of theirs have ended.
    mutating func takeRelieved() -> Set<WAMPID> {
        guard !relieved.isEmpty else { return [] }
        defer { relieved = [] }
        return relieved
    }

    /// When to call `wake` if nothing else happens first.
    var deadline: Moment? { alarms.next }

    /// The number of pending calls.
    var waitingCalls: Int { members.values.reduce(0) { $0 + $1.calls.count } }

    mutating func wake(at now: Moment, into effects: inout [RouterEffect]) {
        while let key = alarms.due(at: now) { expire(key, into: &effects) }
    }

    /// Answers a refused request with an error, or returns the description of a protocol violation.
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

    /// Removes a call without telling anybody.
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

    /// Removes an invocation: later answers of the callee to it are ignored.
    mutating func release(_ invocation: Invocation) {
        members[invocation.callee]?.release(invocation.request, through: invocation.registration)
    }

    /// Interrupts all callees of a call that support it.
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
