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

// WAMP, "Call Canceling" and "Call Timeouts".
extension Dealer {
    /// Handles a CANCEL; without effect once the call has ended.
    ///
    /// - Returns: A description of a protocol violation, or nil.
    mutating func cancel(
        _ request: WAMPID, _ options: ValueMap, by caller: Participant, at now: Moment, into effects: inout [RouterEffect]
    ) -> String? {
        let word: String?
        do throws(OptionError) { word = try options.text("mode") } catch { return error.words }
        let key = CallKey(caller: caller.session, request: request)
        guard let call = members[key.caller]?.calls[request] else { return nil }
        // The specification does not define a default mode for CANCEL; routers in use choose this one.
        var mode = word.flatMap(CallOptions.CancelMode.init) ?? .killNoWait
        // "If the callee does not support call canceling, then behavior is skip."
        if !(members[call.invocation.callee]?.participant.abilities.contains(.interrupts) ?? false) { mode = .skip }
        switch mode {
        case .skip where policy.quirks.leavesSkippedCallsUnanswered: remove(key)
        case .skip: end(key, WAMPURI.Error.canceled, "cancelled by the caller", into: &effects)
        case .killNoWait:
            if !call.isInterrupted { interrupt(call, .killNoWait, WAMPURI.Error.canceled, into: &effects) }
            end(key, WAMPURI.Error.canceled, "cancelled by the caller", into: &effects)
        case .kill:
            guard !call.isInterrupted else { return nil }
            members[key.caller]?.calls[request]?.isInterrupted = true
            alarms.set(key, at: now + policy.interruptPatience)
            interrupt(call, .kill, WAMPURI.Error.canceled, into: &effects)
        }
        return nil
    }

    /// Handles the timeout of a call, or the time limit for the callee's answer to an interrupt.
    mutating func expire(_ key: CallKey, into effects: inout [RouterEffect]) {
        guard let call = members[key.caller]?.calls[key.request] else { return }
        guard !call.isInterrupted else {
            return end(key, WAMPURI.Error.canceled, "the callee did not answer the interrupt", into: &effects)
        }
        interrupt(call, .killNoWait, WAMPURI.Error.timeout, into: &effects)
        end(key, WAMPURI.Error.timeout, "the call took too long", into: &effects)
    }

    /// Ends a call because a part of it could not be sent to the callee or the caller; neither may miss a part without knowing.
    mutating func giveUp(_ message: WAMPMessage, to session: WAMPID, reason: String, into effects: inout [RouterEffect]) {
        switch message {
        case .invocation(let request, _, _, _):
            guard let key = members[session]?.call(of: request), let call = members[key.caller]?.calls[key.request] else { return }
            // The callee may have started with the parts that it received.
            if call.comesInParts, !call.isInterrupted { interrupt(call, .killNoWait, reason, into: &effects) }
            end(key, reason, "the callee cannot take the call", into: &effects)
        case .result(let request, _, _):
            let key = CallKey(caller: session, request: request)
            guard let call = members[session]?.calls[request] else { return }
            if !call.isInterrupted { interrupt(call, .killNoWait, reason, into: &effects) }
            end(key, reason, "the caller does not take the results", into: &effects)
        default: break
        }
    }

    /// Ends a call with an error of the router itself.
    mutating func end(_ key: CallKey, _ uri: String, _ message: String, into effects: inout [RouterEffect]) {
        guard let caller = members[key.caller]?.participant, remove(key) != nil else { return }
        effects.append(.refuse(.call, key.request, of: caller, uri, message))
    }
}

// WAMP, "Caller Leaving During an RPC Invocation" and "Callee Leaving During an RPC Invocation".
extension Dealer {
    /// Removes a session that has ended; nothing is sent to it any more.
    mutating func leave(_ session: WAMPID, into effects: inout [RouterEffect]) {
        guard let member = members[session] else { return }
        // Sorted, because dictionaries have a random order and a machine must be deterministic.
        for request in member.calls.keys.sorted() {
            guard let call = remove(CallKey(caller: session, request: request)), !call.isInterrupted else { continue }
            interrupt(call, except: session, into: &effects)
        }
        for request in member.invocations.keys.sorted() {
            guard let key = member.invocations[request], key.caller != session, let call = members[key.caller]?.calls[key.request]
            else { continue }
            if !call.isInterrupted { interrupt(call, except: session, into: &effects) }
            end(key, WAMPURI.Error.canceled, "the callee has left", into: &effects)
        }
        for registration in member.offers.keys.sorted() { detach(session, from: registration) }
        members[session] = nil
    }

    private func interrupt(_ call: Call, except session: WAMPID, into effects: inout [RouterEffect]) {
        for invocation in [call.invocation] + call.others where invocation.callee != session {
            interrupt(invocation, .killNoWait, WAMPURI.Error.canceled, into: &effects)
        }
    }
}
