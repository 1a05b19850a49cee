import CodecCore
import MachineCore

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
