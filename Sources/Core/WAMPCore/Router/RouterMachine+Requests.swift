import CodecCore
package import MachineCore

/// Handling of messages from clients.
extension RouterMachine {
    mutating func receive(_ message: WAMPMessage, from connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect]) {
        if let (participant, place) = peers[connection]?.participation() {
            guard !policy.quirks.ignoresMistakes else {
                return serve(message.withoutMistakes, of: participant, in: place, at: now, into: &effects)
            }
            return serve(message, of: participant, in: place, at: now, into: &effects)
        }
        guard let phase = peers[connection]?.phase else { return }
        switch phase {
        case .leaving: listen(for: message, of: connection, at: now, into: &effects)
        default: greet(message, from: connection, in: phase, at: now, into: &effects)
        }
    }

    private mutating func serve(
        _ message: WAMPMessage, of participant: Participant, in place: Int, at now: Moment, into effects: inout [RouterEffect]
    ) {
        let connection = participant.connection
        var breach: String?
        // A call is counted later, because it may continue one that was counted already.
        let counted: WAMPID? = if case .call = message { nil } else { message.countedRequest }
        if let counted, let breach = count(counted, of: connection) { return violate(connection, breach, at: now, into: &effects) }
        switch message {
        case .publish(let request, let options, let topic, let arguments):
            // Most publications are not kept.
            let isKept = policy.historyLength > 0 || !options.entries.isEmpty
            let room = isKept ? room(for: participant, in: place) : .unbounded
            breach = realms[place]?.broker.publish(request, options, topic, arguments, by: participant, room: room, at: now, into: &effects)
            if isKept { noteKept(in: place, of: participant) }
            // A publication changes no session, subscription or call, so there is nothing to settle.
            if breach == nil { return }
        case .subscribe(let request, let options, let topic):
            let room = room(for: participant, in: place, needing: RetentionBudget.weight(of: topic, .wildcard))
            breach = realms[place]?.broker.subscribe(request, options, topic, by: participant, room: room, at: now, into: &effects)
            noteKept(in: place, of: participant)
        case .unsubscribe(let request, let subscription):
            realms[place]?.broker.unsubscribe(request, subscription: subscription, by: participant, into: &effects)
            noteKept(in: place, of: participant)
        case .call(let request, let options, let procedure, let arguments):
            breach = call(request, options, procedure, arguments, by: participant, in: place, at: now, into: &effects)
        case .cancel(let request, let options):
            breach = realms[place]?.dealer.cancel(request, options, by: participant, at: now, into: &effects)
        case .register(let request, let options, let procedure):
            let room = room(for: participant, in: place, needing: RetentionBudget.weight(of: procedure, .wildcard))
            breach = realms[place]?.dealer.register(request, options, procedure, by: participant, room: room, at: now, into: &effects)
            noteKept(in: place, of: participant)
        case .unregister(let request, let registration):
            realms[place]?.dealer.unregister(request, registration: registration, by: participant, into: &effects)
            noteKept(in: place, of: participant)
        case .yield(let request, let options, let arguments):
            breach = realms[place]?.dealer.yield(request, options, arguments, by: participant, at: now, into: &effects)
        case .error(.invocation, let request, _, let uri, let arguments):
            breach = realms[place]?.dealer.fail(request, uri: uri, arguments, by: participant, into: &effects)
        case .error: breach = "ERROR does not answer a request of the router"
        case .goodbye(_, let reason, _): return part(connection, reason: reason, at: now, into: &effects)
        case .abort(_, let reason, _):
            leave(connection, reason: reason, at: now, into: &effects)
            return close(connection, .goodbye, into: &effects)
        default: breach = "unexpected \(message.name)"
        }
        if let breach { violate(connection, breach, at: now, into: &effects) } else { settle(place, at: now, into: &effects) }
    }

    /// Handles a call to a procedure of a callee or of the router itself.
    private mutating func call(
        _ request: WAMPID, _ options: ValueMap, _ procedure: String, _ arguments: WAMPArguments, by caller: Participant, in place: Int,
        at now: Moment, into effects: inout [RouterEffect]
    ) -> String? {
        if policy.quirks.closesOnInvalidURIs, !policy.allows(uri: procedure) {
            violate(caller.connection, "a call with an invalid procedure URI", as: .failure, at: now, into: &effects)
            return nil
        }
        let isNew = begins(request, of: caller.connection)
        if isNew, let breach = count(request, of: caller.connection) { return breach }
        guard isNew, policy.hasMetaAPI, WAMPURI.isReserved(procedure) else {
            let weight = realms[place]?.dealer.weight(ofCall: procedure, by: caller.session) ?? 0
            let room = weight > 0 ? room(for: caller, in: place, needing: weight) : .unbounded
            let breach = realms[place]?.dealer.call(
                request, options, procedure, arguments, isNew: isNew, by: caller, weight: weight, room: room, at: now, into: &effects)
            if weight > 0 { noteKept(in: place, of: caller) }
            return breach ?? nil
        }
        callMeta(request, options, procedure, arguments, by: caller, in: place, at: now, into: &effects)
        return nil
    }

    /// Returns whether a CALL starts a call; with an ID that was used before it may bring more input, which the dealer checks.
    ///
    /// Source: WAMP, "Progressive Call Invocations".
    func begins(_ request: WAMPID, of connection: RouterConnection) -> Bool {
        let last = peers[connection]?.session?.lastRequest ?? 0
        return policy.quirks.acceptsAnyRequestID || request > last || request == 0 || last == .largestWAMPID && request == 1
    }

    /// Handles a request that the operator does not allow.
    mutating func forbid(
        _ message: WAMPMessage, of connection: RouterConnection, reason: String, at now: Moment, into effects: inout [RouterEffect]
    ) {
        guard let session = peers[connection]?.session else { return receive(message, from: connection, at: now, into: &effects) }
        let kind: WAMPRequestKind
        let number: WAMPID
        var isAnswered = true
        switch message {
        case .publish(let request, let options, _, _):
            (kind, number, isAnswered) = (.publish, request, options["acknowledge"]?.bool == true)
        case .subscribe(let request, _, _): (kind, number) = (.subscribe, request)
        case .register(let request, _, _): (kind, number) = (.register, request)
        case .call(let request, let options, _, _):
            // If any request ID is accepted, only the dealer knows which calls are pending.
            let waits = realms[session.realm]?.dealer.members[session.participant.session]?.calls[request] != nil
            guard !waits, begins(request, of: connection) else {
                // More input for a pending call: end the call.
                _ = realms[session.realm]?.dealer.cancel(
                    request, ["mode": "killnowait"], by: session.participant, at: now, into: &effects)
                return settle(session.realm, at: now, into: &effects)
            }
            (kind, number) = (.call, request)
            // Its further parts may be allowed; then they are late, which is not a violation.
            if options["progress"]?.bool == true { realms[session.realm]?.dealer.abandon(request, of: session.participant) }
        default: return receive(message, from: connection, at: now, into: &effects)
        }
        if let breach = count(number, of: connection) { return violate(connection, breach, at: now, into: &effects) }
        guard isAnswered else { return }
        effects.append(.send(.error(kind, request: number, details: ValueMap(), uri: reason, .none), to: connection))
    }

    /// Handles a message that could not be sent to a client: ends its call.
    mutating func giveUp(
        _ message: WAMPMessage, to connection: RouterConnection, reason: String, at now: Moment, into effects: inout [RouterEffect]
    ) {
        guard let (participant, place) = peers[connection]?.participation() else { return }
        realms[place]?.dealer.giveUp(message, to: participant.session, reason: reason, into: &effects)
        settle(place, at: now, into: &effects)
    }

    /// Counts a request; its ID must be the next one.
    ///
    /// Source: WAMP, "Identifiers".
    ///
    /// - Returns: A description of a protocol violation, or nil.
    mutating func count(_ request: WAMPID, of connection: RouterConnection) -> String? {
        guard !policy.quirks.acceptsAnyRequestID, let next = peers[connection]?.count(request) else { return nil }
        return "the id of the request is \(request), but should be \(next)"
    }
}

/// Requests that are lost, repeated or late for a test: their IDs are counted in the right order, and no client is blamed.
extension RouterMachine {
    /// Loses a request: it is counted, and has no other effect.
    package mutating func miss(_ message: WAMPMessage, of connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect])
    {
        wake(at: now, into: &effects)
        guard let request = message.countedRequest, let session = peers[connection]?.session else { return }
        if case .call(_, let options, _, _) = message {
            // More input for a call was counted with its first part.
            guard begins(request, of: connection) else { return }
            // Further parts of the call have no effect.
            if options["progress"]?.bool == true { realms[session.realm]?.dealer.abandon(request, of: session.participant) }
        }
        if let breach = count(request, of: connection) { violate(connection, breach, at: now, into: &effects) }
    }

    /// Handles a request that was counted before: for the second time, or late.
    ///
    /// - Parameter input: `received` or `forbidden`.
    package mutating func handleAgain(_ input: RouterInput, at now: Moment, into effects: inout [RouterEffect]) {
        guard case .received(let connection, let message) = input.asReceived, let request = message.countedRequest,
            let session = peers[connection]?.session, request > 0
        else { return handle(input, at: now, into: &effects) }
        if case .call = message, let call = realms[session.realm]?.dealer.members[session.participant.session]?.calls[request] {
            // A pending call is not made twice, but more input may come for it.
            if call.isOpen { handle(input, at: now, into: &effects) }
            return
        }
        peers[connection]?.session?.lastRequest = request == 1 ? 0 : request - 1
        handle(input, at: now, into: &effects)
        peers[connection]?.session?.lastRequest = session.lastRequest
    }
}

extension RouterInput {
    /// Treats a forbidden request as received.
    fileprivate var asReceived: RouterInput {
        if case .forbidden(let connection, let message, _) = self { .received(connection, message) } else { self }
    }
}

extension WAMPMessage {
    /// The ID of a request that is counted; nil for other messages, such as the answer to an invocation.
    package var countedRequest: WAMPID? {
        switch self {
        case .publish(let request, _, _, _), .subscribe(let request, _, _), .unsubscribe(let request, _), .call(let request, _, _, _),
            .register(let request, _, _), .unregister(let request, _):
            request
        default: nil
        }
    }
}
