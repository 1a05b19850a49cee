import CodecCore
import MachineCore

// WAMP, "Calling and Invocations", "Progressive Call Invocations", "Caller Identification" and "Call Timeouts".
extension Dealer {
    /// Handles a CALL: starts a call or adds input to one.
    ///
    /// - Parameters:
    ///   - isNew: Whether the request is the next one of its session; if not, it was used before.
    ///   - weight: The bytes that the call takes while it is pending.
    /// - Returns: A description of a protocol violation, or nil.
    mutating func call(
        _ request: WAMPID, _ options: ValueMap, _ procedure: String, _ arguments: WAMPArguments, isNew: Bool, by caller: Participant,
        weight: Int = 0, room: RetentionBudget = .unbounded, at now: Moment, into effects: inout [RouterEffect]
    ) -> String? {
        let isLast: Bool
        do throws(OptionError) { isLast = try !(options.flag("progress") ?? false) } catch { return error.words }
        guard isLast || caller.abilities.contains(.sendsParts) else { return "CALL with progress, which the client did not announce" }
        let key = CallKey(caller: caller.session, request: request)
        let standing = members[key.caller]?.standing(of: request)
        if let call = standing?.call {
            guard call.isOpen, call.procedure == procedure else {
                return policy.quirks.acceptsAnyRequestID ? nil : "CALL #\(request) is repeated"
            }
            proceed(key, call, arguments, isLast: isLast, into: &effects)
            return nil
        }
        // "A Caller may be unaware that a progressive invocation transfer is completed while sending a CALL continuation."
        guard isNew else {
            return members[key.caller]?.expects(request, isLast: isLast) ?? false ? nil : "CALL #\(request) is repeated"
        }
        do throws(Fault) {
            guard standing?.count ?? 0 < policy.maximumCalls else {
                throw .refused(uri: WAMPURI.Error.unavailable, "too many pending calls in this session")
            }
            guard room.holds(weight) else { throw .refused(uri: room.refusal.uri, room.refusal.words) }
            try start(key, try CallRequest(options), procedure, arguments, isLast: isLast, by: caller, at: now, into: &effects)
            if weight > 0 { count(weight, for: key) }
            return nil
        } catch {
            if !isLast { abandon(request, of: caller) }
            return answer(error, .call, request, of: caller, into: &effects)
        }
    }

    /// Counts the bytes of a call until it has ended.
    private mutating func count(_ bytes: Int, for key: CallKey) {
        members[key.caller]?.calls[key.request]?.bytes = bytes
        members[key.caller]?.callBytes += bytes
        keptBytes += bytes
    }

    /// Records a call with progressive input that ended before its last part came.
    mutating func abandon(_ request: WAMPID, of caller: Participant) {
        members[caller.session, default: Member(caller)].abandon(request, limit: policy.maximumCalls)
    }

    private mutating func start(
        _ key: CallKey, _ request: CallRequest, _ procedure: String, _ arguments: WAMPArguments, isLast: Bool, by caller: Participant,
        at now: Moment, into effects: inout [RouterEffect]
    ) throws(Fault) {
        guard request.disclosesMe != true || policy.discloses != false else {
            throw .refused(uri: WAMPURI.Error.discloseMeDisallowed, "this router does not disclose callers")
        }
        let (registration, callee) = try route(procedure, isLast: isLast)
        // Every registered callee has an offer.
        guard let (offer, abilities) = members[callee]?.offer(registration.id) else {
            throw .refused(uri: WAMPURI.Error.noSuchProcedure, "no callee has registered \(procedure)")
        }
        var details = ValueMap()
        if registration.match != .exact { details["procedure"] = .text(procedure) }
        if policy.discloses ?? request.disclosesMe ?? offer.wantsCaller {
            details["caller"] = Value(caller.session)
            details["caller_authid"] = .text(caller.authID)
            details["caller_authrole"] = .text(caller.authRole)
        }
        // A callee without support for INTERRUPT is treated as one without progressive results.
        if request.wantsProgress, abilities.contains(.interrupts) { details["receive_progress"] = true }
        var patience = request.timeout.map { Duration.milliseconds($0) }
        if let timeout = request.timeout, offer.keepsTimeouts || policy.quirks.onlyForwardsTimeouts {
            details["timeout"] = .integer(timeout)
            patience = nil
        }
        let invocation = invoke(callee, through: registration.id, for: key, details, arguments, isLast: isLast, into: &effects)
        let call = Call(
            procedure: procedure, invocation: invocation, details: details, isOpen: !isLast, comesInParts: !isLast,
            wantsProgress: request.wantsProgress, timeout: patience)
        members[key.caller, default: Member(caller)].calls[key.request] = call
        if let patience { alarms.set(key, at: now + patience) }
    }

    /// Passes on more input of a call.
    private mutating func proceed(
        _ key: CallKey, _ call: Call, _ arguments: WAMPArguments, isLast: Bool, into effects: inout [RouterEffect]
    ) {
        if isLast { members[key.caller]?.calls[key.request]?.isOpen = false }
        // An interrupted callee needs no more input.
        guard !call.isInterrupted else { return }
        guard !policy.quirks.invokesEachPart else {
            guard call.others.count < policy.maximumCalls, let (registration, callee) = try? route(call.procedure, isLast: isLast)
            else { return }
            let invocation = invoke(callee, through: registration.id, for: key, call.details, arguments, isLast: isLast, into: &effects)
            members[key.caller]?.calls[key.request]?.others.append(invocation)
            return
        }
        guard let callee = members[call.invocation.callee]?.participant else { return }
        effects.append(.send(invocation(call.invocation, call.details, arguments, isLast: isLast), to: callee.connection))
    }

    private mutating func invoke(
        _ callee: WAMPID, through registration: WAMPID, for key: CallKey, _ details: ValueMap, _ arguments: WAMPArguments, isLast: Bool,
        into effects: inout [RouterEffect]
    ) -> Invocation {
        var number: WAMPID?
        if policy.quirks.numbersInvocationsByRealm {
            lastInvocation += 1
            number = lastInvocation
        }
        let taken = members[callee]?.take(key, through: registration, as: number)
        let made = Invocation(callee: callee, request: taken?.request ?? 0, registration: registration)
        if let taken { effects.append(.send(invocation(made, details, arguments, isLast: isLast), to: taken.connection)) }
        return made
    }

    private func invocation(_ made: Invocation, _ details: ValueMap, _ arguments: WAMPArguments, isLast: Bool) -> WAMPMessage {
        var details = details
        if !isLast { details["progress"] = true }
        return .invocation(request: made.request, registration: made.registration, details: details, arguments)
    }

    /// Returns the registration and the callee for a call.
    private mutating func route(_ procedure: String, isLast: Bool) throws(Fault) -> (registration: Registration, callee: WAMPID) {
        // Registered URIs are known to be valid.
        guard let id = procedures.exactly(procedure) ?? pattern(for: procedure), let registration = registrations[id] else {
            let isNamed = policy.allows(uri: procedure) || policy.quirks.callsInvalidURIsUnknown
            throw isNamed
                ? .refused(uri: WAMPURI.Error.noSuchProcedure, "no callee has registered \(procedure)")
                : .refused(uri: WAMPURI.Error.invalidURI, "the procedure URI is invalid")
        }
        guard let callee = pick(id) else {
            throw .refused(uri: WAMPURI.Error.noAvailableCallee, "all callees of \(procedure) are busy")
        }
        guard isLast || members[callee]?.participant.takesParts ?? false else {
            throw .refused(uri: WAMPURI.Error.featureNotSupported, "the callee of \(procedure) does not accept progressive input")
        }
        return (registration, callee)
    }

    private mutating func pick(_ id: WAMPID) -> WAMPID? {
        guard registrations[id]?.isBounded == true else { return registrations[id]?.pick(using: &chance) { _ in true } }
        let members = members
        return registrations[id]?.pick(using: &chance) { members[$0]?.offers[id]?.isFree ?? false }
    }

    /// Returns the best pattern for a procedure; URIs reserved for WAMP match no pattern.
    private func pattern(for procedure: String) -> WAMPID? {
        guard procedures.hasPatterns, policy.allows(uri: procedure), !WAMPURI.isReserved(procedure) else { return nil }
        return procedures.best(for: procedure)
    }
}

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
