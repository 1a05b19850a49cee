internal import CodecCore
internal import MachineCore
internal import ProtocolCore

extension ClientMachine {
    mutating func call(
        _ handle: ClientHandle, _ procedure: String, _ arguments: WAMPArguments, _ options: CallOptions, inParts: Bool, at now: Moment,
        into effects: inout [ClientEffect]
    ) {
        if let failure = refusal(of: procedure, mayWait: options.joinPatience != nil) {
            return effects.append(.event(.failed(handle, failure)))
        }
        let due = options.timeout.map { now + $0.bounded }
        let parts: [InvocationPart]? = inParts ? [] : nil
        guard phase != .joined else {
            return send(handle, procedure, arguments, options, due: due, parts: parts, at: now, into: &effects)
        }
        let joinBy = now + (options.joinPatience ?? .zero).bounded
        let request = WaitingRequest.call(procedure: procedure, arguments, options, due: due, parts: parts)
        _ = line.add(handle, request, due: .earliest(due, joinBy))
    }

    mutating func publish(
        _ handle: ClientHandle, _ topic: String, _ arguments: WAMPArguments, _ options: PublishOptions, at now: Moment,
        into effects: inout [ClientEffect]
    ) {
        if let failure = refusal(of: topic, mayWait: options.patience != nil) { return effects.append(.event(.failed(handle, failure))) }
        let due = now + (options.patience ?? policy.answerPatience).bounded
        guard phase != .joined else { return send(handle, topic, arguments, options, due: due, into: &effects) }
        _ = line.add(handle, .publish(topic: topic, arguments, options, due: due), due: due)
    }

    /// Sends the requests that waited for the session, in their order.
    mutating func sendLine(at now: Moment, into effects: inout [ClientEffect]) {
        for waiting in line.endAll() {
            switch waiting.request {
            case .call(let procedure, let arguments, let options, let due, let parts):
                send(waiting.id, procedure, arguments, options, due: due, parts: parts, at: now, into: &effects)
            case .publish(let topic, let arguments, let options, let due):
                send(waiting.id, topic, arguments, options, due: due, into: &effects)
            }
        }
    }

    private mutating func send(
        _ handle: ClientHandle, _ topic: String, _ arguments: WAMPArguments, _ options: PublishOptions, due: Moment,
        into effects: inout [ClientEffect]
    ) {
        var wire = options.wire
        // A router's history does not tell which sessions an event was excluded from. The publication ID identifies the client's own
        // events.
        let isOwn = wire["exclude_me"] != false && topics.isRecalled(topic)
        if isOwn { wire["acknowledge"] = true }
        let id = options.isAcknowledged ? number(.publish(handle), due: due) : numbers.next()
        if isOwn { topics.own.ask(id) }
        effects.append(.send(.publish(request: id, options: wire, topic: topic, arguments)))
        guard options.isAcknowledged else { return effects.append(.event(.published(handle, publication: nil))) }
        sent[handle] = id
    }

    private mutating func send(
        _ handle: ClientHandle, _ procedure: String, _ arguments: WAMPArguments, _ options: CallOptions, due: Moment?,
        parts: [InvocationPart]?,
        at now: Moment, into effects: inout [ClientEffect]
    ) {
        // The protocol forbids parts if the dealer does not announce the feature; the dealer would abort the session.
        if parts != nil, !router.takesParts {
            return effects.append(.event(.failed(handle, .unsupported("progressive_call_invocations"))))
        }
        if let due, due <= now { return effects.append(.event(.failed(handle, .timedOut(wasSent: false)))) }
        let call = SentCall(
            handle: handle, cancelMode: options.cancelMode, wantsProgress: options.wantsProgress,
            openProcedure: parts == nil ? nil : procedure, testament: options.testament)
        let id = number(.call(call), due: due)
        sent[handle] = id
        let wire = options.wire(remaining: due.map { $0 - now }, inParts: parts != nil, router: router)
        effects.append(.send(.call(request: id, options: wire, procedure: procedure, arguments)))
        for part in parts ?? [] { add(part, to: handle, into: &effects) }
    }

    /// Adds more input to a call; without effect once the input is complete or the call has ended.
    mutating func add(_ part: InvocationPart, to handle: ClientHandle, into effects: inout [ClientEffect]) {
        guard let id = sent[handle] else {
            var isTaken = true
            line.update(handle) { isTaken = $0.add(part, limit: policy.maximumWaiting) }
            return isTaken ? () : give(up: handle, .tooManyWaiting, into: &effects)
        }
        guard case .call(var call)? = requests[id], let procedure = call.openProcedure else { return }
        call.hasContinued = true
        if part.isLast { call.openProcedure = nil }
        requests.update(id) { $0 = .call(call) }
        effects.append(
            .send(.call(request: id, options: part.isLast ? ValueMap() : ["progress": true], procedure: procedure, part.arguments)))
    }

    // MARK: Answers

    mutating func result(
        _ request: WAMPID, _ details: ValueMap, _ arguments: WAMPArguments, at now: Moment, into effects: inout [ClientEffect]
    ) {
        if !details.isEmpty, details["progress"] == true, let pending = requests[request], pending.kind == .call {
            // Ignore parts that the caller did not ask for.
            guard case .call(let call) = pending, call.wantsProgress else { return }
            return effects.append(.event(.result(call.handle, details: details, arguments, isFinal: false)))
        }
        switch answered(.call, request, at: now, into: &effects)?.request {
        case .call(let call):
            sent[call.handle] = nil
            if let testament = call.testament { testaments.append(testament) }
            effects.append(.event(.result(call.handle, details: details, arguments, isFinal: true)))
        case .history(let topic): finishHistory(topic: topic, PastEvent.list(arguments), into: &effects)
        default: break
        }
    }

    mutating func published(_ request: WAMPID, publication: WAMPID, at now: Moment, into effects: inout [ClientEffect]) {
        topics.own.handle(request, publication: publication)
        guard case .publish(let handle)? = answered(.publish, request, at: now, into: &effects)?.request else { return }
        sent[handle] = nil
        effects.append(.event(.published(handle, publication: publication)))
    }

    // MARK: Ends

    /// Cancels a call or publication.
    mutating func cancel(_ handle: ClientHandle, into effects: inout [ClientEffect]) {
        guard let request = sent[handle].flatMap({ requests.end($0) }) else {
            return give(up: handle, .cancelled(wasSent: false), into: &effects)
        }
        end(request, .cancelled(wasSent: true), into: &effects)
    }

    /// Ends a request that waits for the session.
    private mutating func give(up handle: ClientHandle, _ failure: ClientFailure, into effects: inout [ClientEffect]) {
        if line.end(handle) != nil { effects.append(.event(.failed(handle, failure))) }
    }

    /// Ends a sent request without waiting for the router, because some routers do not answer CANCEL.
    mutating func end(
        _ pending: PendingRequests<WAMPID, SentRequest>.Pending, _ failure: ClientFailure, into effects: inout [ClientEffect]
    ) {
        switch pending.request {
        case .call(let call):
            // Routers have different defaults if no mode is given.
            let options: ValueMap = ["mode": .text(call.cancelMode.rawValue)]
            if router.cancels { effects.append(.send(.cancel(request: pending.id, options: options))) }
            fail(call.handle, failure, into: &effects)
        case .publish(let handle): fail(handle, failure, into: &effects)
        case .testament: effects.append(.event(.testamentFailed(failure)))
        case .history(let topic): finishHistory(topic: topic, nil, into: &effects)
        case .subscribe, .unsubscribe, .register, .unregister: break
        }
    }

    /// Reports that a call or publication failed.
    mutating func fail(_ handle: ClientHandle, _ failure: ClientFailure, into effects: inout [ClientEffect]) {
        sent[handle] = nil
        effects.append(.event(.failed(handle, failure)))
    }

    // MARK: Testaments

    /// Sets the testaments of earlier sessions again; it ignores the limit of waiting requests, because nobody would retry.
    mutating func sendTestaments(at now: Moment, into effects: inout [ClientEffect]) {
        for testament in testaments {
            let id = number(.testament, due: now + policy.answerPatience)
            effects.append(.send(.call(request: id, options: ValueMap(), procedure: Testament.procedure, testament.call)))
        }
    }
}
