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
        let parts: [CallPart]? = inParts ? [] : nil
        guard phase != .joined else {
            return send(handle, procedure, arguments, options, due: due, parts: parts, at: now, into: &effects)
        }
        let joinBy = now + (options.joinPatience ?? .zero).bounded
        line.append(.call(procedure: procedure, arguments, options, due: due, parts: parts), of: handle)
        alarms.set(.request(handle), at: due.map { min($0, joinBy) } ?? joinBy)
    }

    mutating func publish(
        _ handle: ClientHandle, _ topic: String, _ arguments: WAMPArguments, _ options: PublishOptions, at now: Moment,
        into effects: inout [ClientEffect]
    ) {
        if let failure = refusal(of: topic, mayWait: options.patience != nil) { return effects.append(.event(.failed(handle, failure))) }
        let due = now + (options.patience ?? policy.answerPatience).bounded
        guard phase != .joined else { return send(handle, topic, arguments, options, due: due, into: &effects) }
        line.append(.publish(topic: topic, arguments, options, due: due), of: handle)
        alarms.set(.request(handle), at: due)
    }

    /// Sends what waited for the session, in its order.
    mutating func sendLine(at now: Moment, into effects: inout [ClientEffect]) {
        for (handle, errand) in line.takeAll() {
            alarms.cancel(.request(handle))
            switch errand {
            case .call(let procedure, let arguments, let options, let due, let parts):
                send(handle, procedure, arguments, options, due: due, parts: parts, at: now, into: &effects)
            case .publish(let topic, let arguments, let options, let due):
                send(handle, topic, arguments, options, due: due, into: &effects)
            }
        }
    }

    private mutating func send(
        _ handle: ClientHandle, _ topic: String, _ arguments: WAMPArguments, _ options: PublishOptions, due: Moment,
        into effects: inout [ClientEffect]
    ) {
        var wire = options.wire
        // A router's history does not tell whom an event was not for: its name does, once that is known.
        let isOwn = wire["exclude_me"] != false && topics.isRecalled(topic)
        if isOwn { wire["acknowledge"] = true }
        let id = options.isAcknowledged ? number(.publish(handle)) : numbers.next()
        if isOwn { topics.own.ask(id) }
        effects.append(.send(.publish(request: id, options: wire, topic: topic, arguments)))
        guard options.isAcknowledged else { return effects.append(.event(.published(handle, publication: nil))) }
        sent[handle] = id
        alarms.set(.request(handle), at: due)
    }

    private mutating func send(
        _ handle: ClientHandle, _ procedure: String, _ arguments: WAMPArguments, _ options: CallOptions, due: Moment?, parts: [CallPart]?,
        at now: Moment, into effects: inout [ClientEffect]
    ) {
        // A dealer that does not announce it has to abort the session.
        if parts != nil, !router.takesParts {
            return effects.append(.event(.failed(handle, .unsupported("progressive_call_invocations"))))
        }
        if let due, due <= now { return effects.append(.event(.failed(handle, .timedOut(wasSent: false)))) }
        let call = SentCall(
            handle: handle, cancelMode: options.cancelMode, wantsProgress: options.wantsProgress, hasTimeout: due != nil,
            openProcedure: parts == nil ? nil : procedure, testament: options.testament)
        let id = number(.call(call))
        sent[handle] = id
        if let due { alarms.set(.request(handle), at: due) }
        let wire = options.wire(remaining: due.map { $0 - now }, inParts: parts != nil, router: router)
        effects.append(.send(.call(request: id, options: wire, procedure: procedure, arguments)))
        for part in parts ?? [] { add(part, to: handle, into: &effects) }
    }

    /// More input of a call; without effect once that is complete, or the call has ended.
    mutating func add(_ part: CallPart, to handle: ClientHandle, into effects: inout [ClientEffect]) {
        guard let id = sent[handle] else {
            guard !line.add(part, to: handle, limit: policy.maximumWaiting) else { return }
            return end(handle, .tooManyWaiting, into: &effects)
        }
        guard case .call(var call)? = requests[id], let procedure = call.openProcedure else { return }
        call.hasContinued = true
        if part.isLast { call.openProcedure = nil }
        requests[id] = .call(call)
        effects.append(
            .send(.call(request: id, options: part.isLast ? ValueMap() : ["progress": true], procedure: procedure, part.arguments)))
    }

    // MARK: Answers

    mutating func result(
        _ request: WAMPID, _ details: ValueMap, _ arguments: WAMPArguments, at now: Moment, into effects: inout [ClientEffect]
    ) {
        if !details.isEmpty, details["progress"] == true, let pending = requests[request], pending.kind == .call {
            // Nobody who did not ask for parts has a use for them.
            guard case .call(let call) = pending, call.wantsProgress else { return }
            return effects.append(.event(.result(call.handle, details: details, arguments, isFinal: false)))
        }
        switch answered(.call, request, at: now, into: &effects) {
        case .call(let call):
            sent[call.handle] = nil
            if call.hasTimeout { alarms.cancel(.request(call.handle)) }
            if let testament = call.testament { testaments.append(testament) }
            effects.append(.event(.result(call.handle, details: details, arguments, isFinal: true)))
        case .history(let topic): finishHistory(topic: topic, PastEvent.list(arguments), into: &effects)
        case .testament(let handle): forget(handle)
        default: break
        }
    }

    mutating func published(_ request: WAMPID, publication: WAMPID, at now: Moment, into effects: inout [ClientEffect]) {
        topics.own.hear(request, publication: publication)
        guard case .publish(let handle)? = answered(.publish, request, at: now, into: &effects) else { return }
        sent[handle] = nil
        alarms.cancel(.request(handle))
        effects.append(.event(.published(handle, publication: publication)))
    }

    // MARK: Ends

    mutating func cancel(_ handle: ClientHandle, into effects: inout [ClientEffect]) {
        end(handle, .cancelled(wasSent: sent[handle] != nil), into: &effects)
    }

    mutating func timeOut(_ handle: ClientHandle, into effects: inout [ClientEffect]) {
        end(handle, .timedOut(wasSent: sent[handle] != nil), into: &effects)
    }

    /// Ends a call or publication without waiting for what the router says: one that says nothing to CANCEL is in use.
    private mutating func end(_ handle: ClientHandle, _ failure: ClientFailure, into effects: inout [ClientEffect]) {
        if let id = sent.removeValue(forKey: handle) {
            switch requests.removeValue(forKey: id) {
            case .call(let call)? where router.cancels:
                // What a router takes for granted where no mode is given differs.
                effects.append(.send(.cancel(request: id, options: ["mode": .text(call.cancelMode.rawValue)])))
            case .testament?: return effects.append(.event(.testamentFailed(failure)))
            default: break
            }
        } else if !line.remove(handle) {
            return
        }
        alarms.cancel(.request(handle))
        effects.append(.event(.failed(handle, failure)))
    }

    // MARK: Testaments

    /// Hands in what earlier sessions had; however much waits, for nobody else would try again.
    mutating func sendTestaments(at now: Moment, into effects: inout [ClientEffect]) {
        for testament in testaments {
            let handle = newHandle()
            let id = number(.testament(handle))
            sent[handle] = id
            alarms.set(.request(handle), at: now + policy.answerPatience)
            effects.append(.send(.call(request: id, options: ValueMap(), procedure: Testament.procedure, testament.call)))
        }
    }

    /// A request is answered that the app knows nothing of.
    mutating func forget(_ handle: ClientHandle) {
        sent[handle] = nil
        alarms.cancel(.request(handle))
    }
}
