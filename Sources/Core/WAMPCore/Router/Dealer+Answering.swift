import CodecCore
import MachineCore

// WAMP, "Calling and Invocations" and "Progressive Call Results".
extension Dealer {
    /// A callee answers.
    ///
    /// - Returns: How the protocol was broken, or nil.
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

    /// A callee failed.
    ///
    /// - Returns: How the protocol was broken, or nil.
    mutating func fail(
        _ request: WAMPID, uri: String, _ arguments: WAMPArguments, by callee: Participant, into effects: inout [RouterEffect]
    ) -> String? {
        guard let key = members[callee.session]?.call(of: request) else { return judge("ERROR", request, of: callee) }
        guard let caller = settle(key, request, of: callee) else { return nil }
        // An error without arguments always has room in its caller's queue, so it has to be short.
        let uri = uri.utf8.count <= policy.maximumURI ? uri : WAMPURI.Error.runtimeError
        effects.append(.send(.error(.call, request: key.request, details: details(naming: callee), uri: uri, arguments), to: caller))
        return nil
    }

    /// What an answer says of its callee: nothing, unless the habit of another router is wanted.
    private func details(naming callee: Participant) -> ValueMap {
        guard policy.quirks.namesCallees else { return [:] }
        return ["callee": Value(callee.session), "callee_authid": .text(callee.authID), "callee_authrole": .text(callee.authRole)]
    }

    /// A part of a result; one that the caller does not want is dropped.
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

    /// An invocation is answered, and with the last one of a call the call; returns where its caller is.
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

    /// What to think of an answer to an invocation that does not wait for one: it may be late, but not invented.
    private func judge(_ kind: String, _ request: WAMPID, of callee: Participant) -> String? {
        let last = members[callee.session]?.lastInvocation ?? 0
        guard request == 0 || request > last, !policy.quirks.acceptsAnyRequestID else { return nil }
        return "\(kind) for an invocation #\(request) that there never was"
    }
}
