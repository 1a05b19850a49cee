import CodecCore
import MachineCore

// WAMP, "Calling and Invocations" and "Progressive Call Results".
extension Dealer {
    /// Handles a YIELD of a callee.
    ///
    /// - Returns: A description of a protocol violation, or nil.
    mutating func yield(
        _ request: WAMPID, _ options: ValueMap, _ arguments: WAMPArguments, by callee: Participant, at now: Moment,
        into effects: inout [RouterEffect]
    ) -> String? {
        guard let key = members[callee.session]?.call(of: request) else { return judge("YIELD", request, of: callee) }
        let isPart: Bool
        do throws(OptionError) { isPart = try options.flag("progress") ?? false } catch { return error.words }
        guard !isPart else {
            progress(key, arguments, by: callee, at: now, into: &effects)
            return nil
        }
        guard let caller = settle(key, request, of: callee) else { return nil }
        effects.append(.send(.result(request: key.request, details: details(naming: callee), arguments), to: caller))
        return nil
    }

    /// Handles an ERROR of a callee.
    ///
    /// - Returns: A description of a protocol violation, or nil.
    mutating func fail(
        _ request: WAMPID, uri: String, _ arguments: WAMPArguments, by callee: Participant, into effects: inout [RouterEffect]
    ) -> String? {
        guard let key = members[callee.session]?.call(of: request) else { return judge("ERROR", request, of: callee) }
        guard let caller = settle(key, request, of: callee) else { return nil }
        // An error without arguments is always accepted into its caller's queue, so it must be short.
        let uri = uri.utf8.count <= policy.maximumURI ? uri : WAMPURI.Error.runtimeError
        effects.append(.send(.error(.call, request: key.request, details: details(naming: callee), uri: uri, arguments), to: caller))
        return nil
    }

    /// Returns the details of an answer: empty, unless a quirk names the callee.
    private func details(naming callee: Participant) -> ValueMap {
        guard policy.quirks.namesCallees else { return [:] }
        return ["callee": Value(callee.session), "callee_authid": .text(callee.authID), "callee_authrole": .text(callee.authRole)]
    }

    /// Sends a partial result; it is dropped if the caller does not want partial results.
    private mutating func progress(
        _ key: CallKey, _ arguments: WAMPArguments, by callee: Participant, at now: Moment, into effects: inout [RouterEffect]
    ) {
        guard let (caller, call) = members[key.caller]?.caller(of: key.request), call.wantsProgress else { return }
        // The timeout is "the time limit between the initial call and the first result, and between results thereafter".
        if let timeout = call.timeout, !call.isInterrupted { alarms.set(key, at: now + timeout) }
        var details = details(naming: callee)
        details["progress"] = true
        effects.append(.send(.result(request: key.request, details: details, arguments), to: caller))
    }

    /// Ends an invocation, and the call if it was the last one; returns the caller's connection.
    private mutating func settle(_ key: CallKey, _ request: WAMPID, of callee: Participant) -> RouterConnection? {
        guard let (caller, found) = members[key.caller]?.caller(of: key.request) else { return nil }
        guard !found.others.isEmpty else {
            remove(key)
            return caller
        }
        var call = found
        var open = [call.invocation] + call.others
        if let place = open.firstIndex(where: { $0.callee == callee.session && $0.request == request }) { release(open.remove(at: place)) }
        (call.invocation, call.others) = (open[0], Array(open.dropFirst()))
        members[key.caller]?.calls[key.request] = call
        return caller
    }

    /// Returns a description of a violation for an answer to an unknown invocation: a late answer is allowed, an invented one is not.
    private func judge(_ kind: String, _ request: WAMPID, of callee: Participant) -> String? {
        let last = members[callee.session]?.lastInvocation ?? 0
        guard request == 0 || request > last, !policy.quirks.acceptsAnyRequestID else { return nil }
        return "\(kind) for invocation #\(request), which was never made"
    }
}
