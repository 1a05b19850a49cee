import CodecCore
import Holdfast
import HoldfastProtocols
import WAMPCore

/// What the machine tells.
extension WAMPView {
    mutating func hear(_ news: ClientNews, in shell: WAMPShell, _ actions: inout [Action]) {
        switch news {
        case .challenged(let handle, let method, let extra): prove(handle, method, extra, in: shell)
        case .welcomed(let handle, let details):
            let isGenuine = coding?.identification.check(details: details) ?? false
            actions.append(.tell(.checked(handle, isGenuine: isGenuine)))
        case .ended(let ending): end(for: ending, in: shell, &actions)
        case .joined(let session):
            (self.session, cause) = (session, nil)
            actions += [.announce(shell.changes), .joined(session)]
            // Who has more input for a call that waited for the session waits as well.
            for case .progress(let mailbox, _) in pending.values { actions.append(.announce(mailbox.changes)) }
        case .parted:
            session = nil
            actions.append(.announce(shell.changes))
        case .testamentFailed(let failure):
            actions.append(.log(WAMPError(failure, of: "CALL \(Testament.procedure)", because: cause)))
        case .result(let handle, let details, let arguments, let isFinal): hearResult(handle, details, arguments, isFinal, &actions)
        case .published(let handle, let publication):
            if case .publication(let reply, _)? = pending.removeValue(forKey: handle) {
                actions.append(.publication(reply, .success(publication)))
            }
        case .failed(let handle, let failure): end(handle, failure, &actions)
        case .subscribed(let handle, _):
            guard case .listener(var listener)? = pending[handle] else { break }
            guard let reply = listener.reply.take() else { break }
            pending[handle] = .listener(listener)
            actions.append(.start(reply, .success(())))
        case .unsubscribed(let handle):
            guard case .leaver(let reply, _)? = pending.removeValue(forKey: handle) else { break }
            actions.append(.start(reply, .success(())))
        case .event(let handles, _, let publication, let details, let arguments):
            for handle in handles {
                guard case .listener(let listener)? = pending[handle] else { continue }
                let topic = listener.key.match == .exact ? listener.key.uri : details["topic"]?.string ?? listener.key.uri
                let event = RawEvent(publication: publication, topic: topic, details: details, arguments: arguments)
                if let place = listener.mailbox.push(event) { actions.append(.wake(place)) }
            }
        case .gap(let handles, let gap):
            for handle in handles {
                guard case .listener(let listener)? = pending[handle] else { continue }
                if let place = listener.mailbox.push(EventGap(gap)) { actions.append(.wake(place)) }
            }
        case .registered(let handle, _):
            guard case .procedure(var offer)? = pending[handle] else { break }
            offer.registration.stand(true)
            actions.append(.announce(offer.registration.changes))
            guard let reply = offer.reply.take() else { break }
            pending[handle] = .procedure(offer)
            actions.append(.start(reply, .success(())))
        case .suspended(let handle):
            guard case .procedure(let offer)? = pending[handle] else { break }
            offer.registration.stand(false)
            actions.append(.announce(offer.registration.changes))
        case .invoked(let handle, let procedure, let details, let arguments):
            invoke(handle, procedure, details, arguments, in: shell, &actions)
        case .invokedFurther(let handle, let arguments, let isFinal):
            guard let running = running[handle], let input = running.input else { break }
            guard input.push(arguments, isFinal: isFinal) else {
                // The handler is too slow, and a part of its input is not to be left out.
                let late = WAMPFailure(WAMPURI.Error.unavailable, ["the input comes too fast"])
                // Answered first: what it says when its input ends is no answer any more.
                actions += [.answer(handle, .failure(late)), .cancel(running.task)]
                break
            }
            if isFinal { actions.append(.finish(input, .success(()))) }
            actions.append(.announce(input.changes))
        case .interrupted(let handle, _):
            guard let running = running[handle] else { break }
            actions.append(.cancel(running.task))
            if let input = running.input { actions.append(.finish(input, .success(()))) }
        }
    }

    private mutating func hearResult(
        _ handle: ClientHandle, _ details: ValueMap, _ arguments: WAMPArguments, _ isFinal: Bool, _ actions: inout [Action]
    ) {
        switch pending[handle] {
        case .call(let reply, _)? where isFinal:
            pending[handle] = nil
            actions.append(.call(reply, .success(arguments)))
        case .progress(let mailbox, let request)?:
            if isFinal { pending[handle] = nil }
            if !mailbox.push(arguments, isFinal: isFinal) {
                // The consumer is too slow, and a part of a result is not to be left out.
                pending[handle] = nil
                actions.append(.tell(.cancel(handle)))
                actions.append(.finish(mailbox, .failure(WAMPError(.overrun, request: "\(request)", wasSent: true))))
            } else if isFinal {
                actions.append(.finish(mailbox, .success(())))
            }
            actions.append(.announce(mailbox.changes))
        default: break
        }
    }

    /// Something that the app waits for or has is over; without a failure because all is.
    mutating func end(_ handle: ClientHandle, _ failure: ClientFailure?, _ actions: inout [Action]) {
        guard let pending = pending.removeValue(forKey: handle) else { return }
        let (cause, ending) = (cause, ending)
        func error(_ request: String) -> WAMPError {
            // Why the session has ended says more than that it has.
            if let failure, failure != .ended { return WAMPError(failure, of: request, because: cause ?? ending) }
            return (ending ?? WAMPError(.closed)).of(request)
        }
        switch pending {
        case .call(let reply, let request): actions.append(.call(reply, .failure(error("\(request)"))))
        case .progress(let mailbox, let request): actions.append(.finish(mailbox, .failure(error("\(request)"))))
        case .publication(let reply, let request): actions.append(.publication(reply, .failure(error("\(request)"))))
        case .listener(let listener):
            let error = error("SUBSCRIBE \(listener.key.uri)")
            actions += listener.mailbox.finish(error.code == .closed ? .success(()) : .failure(error)).map { .wake($0) }
            if let reply = listener.reply { actions.append(.start(reply, .failure(error))) }
        case .leaver(let reply, let request):
            // A session that is over has no subscriptions.
            let isOver = failure.map { $0 == .ended } ?? true
            actions.append(.start(reply, isOver ? .success(()) : .failure(error("\(request)"))))
        case .procedure(let offer):
            let error = error("REGISTER \(offer.registration.uri)")
            offer.registration.end(error)
            actions.append(.announce(offer.registration.changes))
            if let reply = offer.reply {
                actions.append(.start(reply, .failure(error)))
            } else if let failure, failure != .ended {
                // It stood once, and perhaps nobody waits for its end.
                actions.append(.log(error))
            }
        }
        actions.append(.release(pending))
    }

    // MARK: - Invocations

    private mutating func invoke(
        _ handle: ClientHandle, _ procedure: ClientHandle, _ details: ValueMap, _ arguments: WAMPArguments, in shell: WAMPShell,
        _ actions: inout [Action]
    ) {
        guard case .procedure(let offer)? = pending[procedure] else {
            return actions.append(.answer(handle, .failure(WAMPFailure(WAMPURI.Error.noSuchProcedure))))
        }
        let isInParts = !details.isEmpty && details["progress"] == true
        let input = isInParts ? CallMailbox(capacity: CallMailbox.standardCapacity) : nil
        let invocation = Invocation(
            shell: shell, handle: handle, uri: details["procedure"]?.string ?? offer.registration.uri, details: details,
            arguments: arguments, input: input)
        let (handler, failure) = (offer.handler, shell.context.options.failure)
        // SAFETY: kept in `running` until it ends; cancelled by an interrupt, by the loss of the connection, and at the end.
        let task = Task {
            let outcome: Result<WAMPArguments, WAMPFailure>
            do { outcome = .success(try await handler(arguments, invocation)) } catch {
                outcome = .failure(WAMPFailure(of: error, failure))
            }
            shell.answer(handle, outcome)
        }
        offer.registration.run()
        running[handle] = Running(task: task, input: input, registration: offer.registration)
    }
}

extension WAMPShell {
    /// A handler has ended.
    func answer(_ handle: ClientHandle, _ outcome: Result<WAMPArguments, WAMPFailure>) {
        command { view, actions in
            if let handler = view.running.removeValue(forKey: handle) {
                if handler.isAwaited { handler.registration.rest() }
                actions.append(.announce(handler.registration.changes))
                if let input = handler.input { actions.append(.finish(input, .success(()))) }
            }
            switch outcome {
            case .success(let arguments): return (.yield(handle, arguments, isFinal: true), ())
            case .failure(let failure): return (.fail(handle, uri: failure.uri, failure.arguments), ())
            }
        }
    }

    /// A part of an invocation's result.
    func yield(_ handle: ClientHandle, _ arguments: WAMPArguments, _ request: String) async throws(WAMPError) {
        try await roomToSend(within: nil, request)
        command(.yield(handle, arguments, isFinal: false))
    }
}
