import CodecCore
import Holdfast
import HoldfastProtocols
import Logging
import WAMPCore
import WAMPSigning

/// Handling the news of the machine.
extension WAMPView {
    mutating func handle(_ news: ClientNews, in shell: WAMPShell, _ actions: inout [Action]) {
        switch news {
        case .challenged(let handle, let method, let extra): prove(handle, method, extra, in: shell)
        case .welcomed(let handle, let details):
            let isGenuine = coding?.identification.check(details: details) ?? false
            actions.append(.run { $0.command(.checked(handle, isGenuine: isGenuine)) })
        case .ended(let ending): end(for: ending, in: shell, &actions)
        case .joined(let session):
            standing.join(session)
            actions.append(.announce(shell.changes))
            actions.append(.run { $0.context.options.logger.info("session \(session.id) has joined \(session.realm)") })
            // Callers that wait to send more input for a call also wait for the session.
            for case .progress(let mailbox) in pending.values.map(\.purpose) { actions.append(.announce(mailbox.changes)) }
        case .parted:
            standing.part()
            actions.append(.announce(shell.changes))
        case .testamentFailed(let failure):
            actions.append(.log(WAMPError(failure, of: "CALL \(Testament.procedure)", because: standing.cause)))
        case .result(let handle, _, let arguments, let isFinal): handleResult(handle, arguments, isFinal, &actions)
        case .published(let handle, let publication):
            guard case .publication(let reply)? = pending.removeValue(forKey: handle)?.purpose else { break }
            actions.append(.publication(reply, .success(publication)))
        case .failed(let handle, let failure): end(handle, failure, &actions)
        case .subscribed(let handle, _), .registered(let handle, _): stand(handle, true, &actions)
        case .unsubscribed(let handle):
            guard case .unsubscribing(let reply)? = pending.removeValue(forKey: handle)?.purpose else { break }
            actions.append(.end(reply, .success(())))
        case .event(let handles, _, let publication, let details, let arguments):
            for handle in handles {
                guard case .listener(let mailbox, let key)? = pending[handle]?.purpose else { continue }
                let event = RawEvent(publication: publication, topic: key.topic(of: details), details: details, arguments: arguments)
                if mailbox.push(.value(event)) { mailbox.finish(.failure(WAMPError(.overrun, request: "EVENT \(key.uri)"))) }
            }
        case .gap(let handles, let gap):
            for case .listener(let mailbox, _) in handles.compactMap({ pending[$0]?.purpose }) { _ = mailbox.push(.note(EventGap(gap))) }
        case .suspended(let handle): stand(handle, false, &actions)
        case .invoked(let handle, let procedure, let details, let arguments):
            invoke(handle, procedure, details, arguments, in: shell, &actions)
        case .invokedFurther(let handle, let arguments, let isFinal):
            guard let running = running[handle], let input = running.input else { break }
            if input.push(arguments, isFinal: isFinal) {
                // The handler is too slow, and no part of its input may be left out.
                let late = WAMPFailure(WAMPURI.Error.unavailable, ["the input comes too fast"])
                // The answer is sent first, because the handler's own answer at the end of its input no longer counts.
                actions += [.run { $0.answer(handle, .failure(late)) }, .cancel(running.task)]
            } else if isFinal {
                actions.append(.finish(input, .success(())))
            }
        case .interrupted(let handle, _): running[handle]?.stop(&actions)
        }
    }

    /// Updates whether a subscription or registration is active, and resumes the caller that waits for its first activation.
    private mutating func stand(_ handle: ClientHandle, _ isStanding: Bool, _ actions: inout [Action]) {
        if case .procedure(let registration, _)? = pending[handle]?.purpose {
            registration.stand(isStanding)
            actions.append(.announce(registration.changes))
        }
        if isStanding, let reply = pending[handle]?.reply.take() { actions.append(.end(reply, .success(()))) }
    }

    private mutating func handleResult(_ handle: ClientHandle, _ arguments: WAMPArguments, _ isFinal: Bool, _ actions: inout [Action]) {
        switch pending[handle]?.purpose {
        case .call(let reply)? where isFinal:
            pending[handle] = nil
            actions.append(.call(reply, .success(arguments)))
        case .progress(let mailbox)?:
            if mailbox.push(arguments, isFinal: isFinal) {
                // The consumer is too slow, and no part of a result may be left out.
                let request = pending.removeValue(forKey: handle)?.request.description
                actions.append(.run { $0.command(.cancel(handle)) })
                actions.append(.finish(mailbox, .failure(WAMPError(.overrun, request: request, wasSent: true))))
            } else if isFinal {
                pending[handle] = nil
                actions.append(.finish(mailbox, .success(())))
            }
        default: break
        }
    }

    /// Ends a request, a subscription or a registration with a failure.
    mutating func end(_ handle: ClientHandle, _ failure: ClientFailure, _ actions: inout [Action]) {
        guard let pending = pending.removeValue(forKey: handle) else { return }
        let (request, isOver) = ("\(pending.request)", failure == .ended)
        // The reason why the session has ended says more than that it has ended.
        let error = standing.ending.flatMap { isOver ? $0.of(request) : nil } ?? WAMPError(failure, of: request, because: standing.reason)
        switch pending.purpose {
        case .call(let reply): actions.append(.call(reply, .failure(error)))
        case .progress(let mailbox): actions.append(.finish(mailbox, .failure(error)))
        case .publication(let reply): actions.append(.publication(reply, .failure(error)))
        case .listener(let mailbox, _): mailbox.finish(error.code == .closed ? .success(()) : .failure(error))
        // A session that has ended has no subscriptions.
        case .unsubscribing(let reply): actions.append(.end(reply, isOver ? .success(()) : .failure(error)))
        case .procedure(let registration, _):
            registration.end(error)
            actions.append(.announce(registration.changes))
            // The registration was active before, so possibly nobody waits for its end.
            if pending.reply == nil, !isOver { actions.append(.log(error)) }
        }
        if let reply = pending.reply { actions.append(.end(reply, .failure(error))) }
        actions.append(.release(pending))
    }

    // MARK: - Invocations

    private mutating func invoke(
        _ handle: ClientHandle, _ procedure: ClientHandle, _ details: ValueMap, _ arguments: WAMPArguments, in shell: WAMPShell,
        _ actions: inout [Action]
    ) {
        // The machine reports no invocations of a procedure that was given up.
        guard case .procedure(let registration, let handler)? = pending[procedure]?.purpose else { return }
        let isInParts = !details.isEmpty && details["progress"] == true
        let input = isInParts ? CallMailbox(shell.time) : nil
        let invocation = Invocation(
            shell: shell, handle: handle, uri: details["procedure"]?.string ?? registration.uri, details: details,
            arguments: arguments, input: input)
        let failure = shell.context.options.failure
        // SAFETY: kept in `running` until it ends; cancelled by an interrupt, by a lost connection, and at the end.
        let task = Task {
            let outcome: Result<WAMPArguments, WAMPFailure>
            do { outcome = .success(try await handler(arguments, invocation)) } catch {
                outcome = .failure(WAMPFailure(of: error, failure))
            }
            shell.answer(handle, outcome)
        }
        registration.run()
        running[handle] = Running(task: task, input: input, registration: registration)
    }

    // MARK: - Authentication

    /// Answers the router's challenge.
    private mutating func prove(_ handle: ClientHandle, _ method: String, _ extra: ValueMap, in shell: WAMPShell) {
        guard let identification = coding?.identification else { return }
        // SAFETY: cancelled with the connection, at the latest when the join times out.
        proofs[handle] = Task { [weak shell, secrets = shell.context.secrets] in
            let (answer, obstacle): (ClientCommand, SigningError?)
            do {
                let proof = try await identification.prove(method: method, extra: extra)
                // Hidden before it is in a message: the socket may log the message, and the router may repeat it.
                secrets.hide(proof.signature)
                (answer, obstacle) = (.proven(handle, signature: proof.signature, extra: proof.extra), nil)
            } catch let error as SigningError {
                (answer, obstacle) = (.unproven(handle, "\(error)", isHopeless: error.isHopeless), error)
            } catch {
                // The text of an app's error may contain a secret, such as the address of a service with its token.
                (answer, obstacle) = (.unproven(handle, "\(type(of: error))"), nil)
            }
            shell?.command { view, _ in
                guard view.proofs.removeValue(forKey: handle) != nil else { return (nil, ()) }
                view.obstacle = obstacle
                return (answer, ())
            }
        }
    }
}

extension WAMPShell {
    /// Answers an invocation whose handler has ended.
    func answer(_ handle: ClientHandle, _ outcome: Result<WAMPArguments, WAMPFailure>) {
        command { view, actions in
            if let handler = view.running.removeValue(forKey: handle) {
                handler.registration.rest()
                actions.append(.announce(handler.registration.changes))
                if let input = handler.input { actions.append(.finish(input, .success(()))) }
            }
            switch outcome {
            case .success(let arguments): return (.yield(handle, arguments, isFinal: true), ())
            case .failure(let failure): return (.fail(handle, uri: failure.uri, failure.arguments), ())
            }
        }
    }

    /// Sends a part of an invocation's result.
    func yield(_ handle: ClientHandle, _ arguments: WAMPArguments, _ request: String) async throws(WAMPError) {
        try await roomToSend(within: nil, request)
        command(.yield(handle, arguments, isFinal: false))
    }
}
