internal import CodecCore
internal import MachineCore
internal import ProtocolCore

extension ClientMachine {
    mutating func register(
        _ handle: ClientHandle, _ uri: String, _ options: RegisterOptions, patience: Duration?, at now: Moment,
        into effects: inout [ClientEffect]
    ) {
        if let failure = refusal(of: uri, match: options.match, mayWait: patience != nil) {
            return effects.append(.event(.failed(handle, failure)))
        }
        let key = TopicKey(uri, match: options.match)
        let procedure = OfferedProcedure(handle: handle, key: key, options: options, waitsUntil: patience.map { now + $0 })
        let number = procedures.add(procedure)
        alarms.set(.procedure(number), at: now + (patience ?? policy.answerPatience))
        settle(procedure: number, at: now, into: &effects)
        // The overdue answer will not come, and the URI is not free before it does.
        if procedures.isOverdue(key, since: Moment(now.offset - policy.answerPatience)) {
            drop(.violation("REGISTER or UNREGISTER was not answered in time"), at: now, into: &effects)
        }
    }

    mutating func unregister(_ handle: ClientHandle, at now: Moment, into effects: inout [ClientEffect]) {
        guard let number = procedures.number(of: handle) else { return }
        depart(number, at: now, into: &effects)
    }

    /// Takes the next step towards the state that the app wants: registered or not.
    mutating func settle(procedure number: Int, at now: Moment, into effects: inout [ClientEffect]) {
        guard let procedure = procedures[number], procedure.flight == nil else { return }
        guard procedure.isWanted else {
            if phase == .joined, let registration = procedure.registration {
                procedures.update(number) { ($0.flight, $0.askedAt, $0.registration) = (.unregister, now, nil) }
                let id = self.number(.unregister(procedure: number))
                return effects.append(.send(.unregister(request: id, registration: registration)))
            }
            for next in procedures.remove(number) { settle(procedure: next, at: now, into: &effects) }
            return
        }
        guard phase == .joined, procedure.registration == nil, !procedure.isPausing, procedures.isClear(procedure.key) else { return }
        if let feature = lacking(procedure.options) { return end(procedure: number, .unsupported(feature), at: now, into: &effects) }
        procedures.update(number) { ($0.flight, $0.askedAt) = (.register, now) }
        alarms.set(.procedure(number), at: now + policy.answerPatience)
        let id = self.number(.register(procedure: number))
        effects.append(.send(.register(request: id, options: procedure.options.wire, procedure: procedure.key.uri)))
    }

    private func lacking(_ options: RegisterOptions) -> String? {
        let needsSharing = options.sharing != .single && !router.dealer.isEmpty && !router.dealer.contains("shared_registration")
        return router.lacking(match: options.match, among: router.dealer, named: "pattern_based_registration")
            ?? (needsSharing ? "shared_registration" : nil)
    }

    // MARK: Answers

    mutating func registered(_ request: WAMPID, registration: WAMPID, at now: Moment, into effects: inout [ClientEffect]) {
        guard case .register(let number)? = answered(.register, request, at: now, into: &effects)?.request else { return }
        if let other = procedures.number(of: registration), other != number {
            return violate("REGISTERED gives one registration to two procedures", at: now, into: &effects)
        }
        alarms.cancel(.procedure(number))
        procedures.update(number) { ($0.flight, $0.registration, $0.standsSince) = (nil, registration, now) }
        if let procedure = procedures[number], procedure.isWanted {
            procedures.markRegistered(number)
            effects.append(.event(.registered(procedure.handle, registration: registration)))
        }
        settle(procedure: number, at: now, into: &effects)
    }

    /// Handles a refused registration; one that existed before, or may have, is retried for a while.
    ///
    /// The router may still hold the registration of the lost session.
    mutating func refuse(procedure number: Int, _ refusal: RequestRefusal, at now: Moment, into effects: inout [ClientEffect]) {
        alarms.cancel(.procedure(number))
        procedures.update(number) { $0.flight = nil }
        guard let procedure = procedures[number], procedure.isWanted else {
            return settle(procedure: number, at: now, into: &effects)
        }
        let until = procedure.toleratedUntil ?? now + procedure.options.takeoverPatience.bounded
        let isPassing = refusal.uri == WAMPURI.Error.procedureAlreadyExists || WAMPURI.isPassing(refusal.uri)
        guard isPassing, procedure.hasStood || procedure.wasAskedBefore, now < until else {
            return end(procedure: number, refusal.failure, at: now, into: &effects)
        }
        procedures.update(number) { $0.toleratedUntil = until }
        pauseProcedure(number, at: now)
    }

    mutating func unregistered(procedure number: Int, at now: Moment, into effects: inout [ClientEffect]) {
        procedures.update(number) { $0.flight = nil }
        settle(procedure: number, at: now, into: &effects)
    }

    /// Handles a registration that the router revoked; the client registers again, up to a limited number of tries.
    ///
    /// Source: WAMP, "Registration Revocation".
    mutating func revokeRegistration(_ details: ValueMap, at now: Moment, into effects: inout [ClientEffect]) {
        guard let id = details["registration"]?.int.flatMap(WAMPID.init(exactly:)), let number = procedures.number(of: id) else { return }
        procedures.update(number) {
            $0.registration = nil
            $0.toleratedUntil = now + $0.options.takeoverPatience.bounded
            if now - $0.standsSince >= Self.settledAfter { $0.tries = 0 }
        }
        guard let procedure = procedures[number] else { return }
        guard procedure.tries < Self.mostTries else {
            let uri = details["reason"]?.string.flatMap { WAMPURI.isValid($0) ? $0 : nil } ?? WAMPURI.Error.noSuchRegistration
            return end(procedure: number, .refused(uri: uri, arguments: .none), at: now, into: &effects)
        }
        effects.append(.event(.suspended(procedure.handle)))
        pauseProcedure(number, at: now)
    }

    // MARK: Ends

    mutating func loseProcedures(at now: Moment, into effects: inout [ClientEffect]) {
        for number in procedures.inOrder {
            guard let procedure = procedures[number] else { continue }
            alarms.cancel(.procedure(number))
            alarms.cancel(.registering(number))
            let wasAsked = procedure.flight == .register
            procedures.update(number) {
                ($0.registration, $0.flight, $0.tries, $0.isPausing, $0.toleratedUntil, $0.running) = (nil, nil, 0, false, nil, 0)
                if wasAsked { $0.wasAskedBefore = true }
            }
            if !procedure.isWanted {
                settle(procedure: number, at: now, into: &effects)
            } else if procedure.hasStood {
                if procedure.registration != nil { effects.append(.event(.suspended(procedure.handle))) }
            } else if let until = procedure.waitsUntil, until > now {
                alarms.set(.procedure(number), at: until)
            } else {
                end(procedure: number, .connectionLost(wasSent: wasAsked), at: now, into: &effects)
            }
        }
    }

    /// Handles a timeout: ends a procedure that was never registered, or reconnects if the router does not answer the REGISTER.
    mutating func timeOut(procedure number: Int, at now: Moment, into effects: inout [ClientEffect]) {
        guard let procedure = procedures[number], procedure.isWanted else { return }
        if procedure.hasStood {
            drop(.violation("REGISTER was not answered in time"), at: now, into: &effects)
        } else {
            end(procedure: number, .timedOut(wasSent: procedure.flight == .register), at: now, into: &effects)
        }
    }

    mutating func wakeProcedure(_ number: Int, at now: Moment, into effects: inout [ClientEffect]) {
        procedures.update(number) { $0.isPausing = false }
        settle(procedure: number, at: now, into: &effects)
    }

    private mutating func pauseProcedure(_ number: Int, at now: Moment) {
        alarms.set(.registering(number), at: now + pause(try: procedures[number]?.tries ?? 0))
        procedures.update(number) {
            $0.tries += 1
            $0.isPausing = true
        }
    }

    private mutating func end(procedure number: Int, _ failure: ClientFailure, at now: Moment, into effects: inout [ClientEffect]) {
        guard let handle = procedures[number]?.handle else { return }
        effects.append(.event(.failed(handle, failure)))
        depart(number, at: now, into: &effects)
    }

    private mutating func depart(_ number: Int, at now: Moment, into effects: inout [ClientEffect]) {
        alarms.cancel(.procedure(number))
        alarms.cancel(.registering(number))
        procedures.depart(number)
        settle(procedure: number, at: now, into: &effects)
    }
}

extension ClientMachine {
    /// Handles an invocation; any request ID is accepted, because some routers count them per realm and so with gaps.
    mutating func invoke(
        _ request: WAMPID, _ registration: WAMPID, _ details: ValueMap, _ arguments: WAMPArguments, into effects: inout [ClientEffect]
    ) {
        let hasMore = !details.isEmpty && details["progress"] == true
        if let handle = invocations.handle(of: request) {
            return add(arguments, to: handle, hasMore: hasMore, into: &effects)
        }
        // WAMP, "Progressive Call Invocations": this input was in flight when the handler answered.
        guard !invocations.isUnread(request, hasMore: hasMore) else { return }
        guard let number = procedures.number(of: registration), let procedure = procedures[number] else {
            return refuse(request, WAMPURI.Error.noSuchRegistration, into: &effects)
        }
        guard procedures.begin(number, limit: policy.maximumInvocations) else {
            return refuse(request, WAMPURI.Error.unavailable, into: &effects)
        }
        let handle = newHandle()
        let wantsProgress = !details.isEmpty && details["receive_progress"] == true
        invocations.begin(.init(request: request, procedure: number, wantsProgress: wantsProgress, isOpen: hasMore), as: handle)
        effects.append(.event(.invoked(handle, procedure: procedure.handle, details: details, arguments)))
    }

    private mutating func add(_ arguments: WAMPArguments, to handle: ClientHandle, hasMore: Bool, into effects: inout [ClientEffect]) {
        guard let invocation = invocations[handle], invocation.isOpen, !invocation.isInterrupted else { return }
        if !hasMore { invocations.update(handle) { $0.isOpen = false } }
        effects.append(.event(.invokedFurther(handle, arguments, isFinal: !hasMore)))
    }

    mutating func interrupt(_ request: WAMPID, options: ValueMap, into effects: inout [ClientEffect]) {
        guard let handle = invocations.handle(of: request), invocations[handle]?.isInterrupted == false else { return }
        invocations.update(handle) { $0.isInterrupted = true }
        effects.append(.event(.interrupted(handle, reason: options["reason"]?.string)))
    }

    mutating func yield(_ handle: ClientHandle, _ arguments: WAMPArguments, isFinal: Bool, into effects: inout [ClientEffect]) {
        if isFinal {
            guard let invocation = finish(handle) else { return }
            effects.append(.send(.yield(request: invocation.request, options: ValueMap(), arguments)))
        } else if let invocation = invocations[handle], invocation.wantsProgress, !invocation.isInterrupted {
            effects.append(.send(.yield(request: invocation.request, options: ["progress": true], arguments)))
        }
    }

    mutating func fail(_ handle: ClientHandle, uri: String, _ arguments: WAMPArguments, into effects: inout [ClientEffect]) {
        guard let invocation = finish(handle) else { return }
        refuse(invocation.request, WAMPURI.isValid(uri) ? uri : WAMPURI.Error.runtimeError, arguments, into: &effects)
    }

    private mutating func finish(_ handle: ClientHandle) -> InvocationTable.Invocation? {
        guard let invocation = invocations.end(handle) else { return nil }
        procedures.end(invocation.procedure)
        return invocation
    }

    private func refuse(_ request: WAMPID, _ uri: String, _ arguments: WAMPArguments = .none, into effects: inout [ClientEffect]) {
        effects.append(.send(.error(.invocation, request: request, details: ValueMap(), uri: uri, arguments)))
    }
}
