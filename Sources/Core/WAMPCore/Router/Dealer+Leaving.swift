// WAMP, "Caller Leaving During an RPC Invocation" and "Callee Leaving During an RPC Invocation".
extension Dealer {
    /// A session has ended; nothing is sent to it any more.
    mutating func leave(_ session: WAMPID, into effects: inout [RouterEffect]) {
        guard let member = members[session] else { return }
        // Dictionaries have an order of chance; a machine has none.
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
