import CodecCore
import Holdfast
import MachineCore
import WAMPCore

/// What the machine tells.
extension WAMPDesk {
    func hear(_ news: ClientNews, _ state: inout State) {
        switch news {
        case .joined(let session):
            (state.session, state.cause, state.isWaiting) = (session, nil, false)
            state.deeds += [.announce(changes), .joined(session)]
            // Who has more input for a call that waited for the session waits as well.
            for case .progress(let mailbox, _) in state.pending.values { state.deeds.append(.announce(mailbox.changes)) }
        case .parted:
            (state.session, state.isWaiting) = (nil, true)
            state.deeds.append(.announce(changes))
        case .result(let handle, let details, let arguments, let isFinal): hearResult(handle, details, arguments, isFinal, &state)
        case .published(let handle, let publication):
            if case .publication(let reply, _)? = state.pending.removeValue(forKey: handle) {
                state.deeds.append(.publication(reply, .success(publication)))
            }
        case .failed(let handle, let failure): end(handle, failure, &state)
        case .subscribed(let handle, _):
            guard case .listener(var listener)? = state.pending[handle] else { break }
            guard let reply = listener.reply.take() else { break }
            state.pending[handle] = .listener(listener)
            state.deeds.append(.start(reply, .success(())))
        case .unsubscribed(let handle):
            guard case .leaver(let reply, _)? = state.pending.removeValue(forKey: handle) else { break }
            state.deeds.append(.start(reply, .success(())))
        case .event(let handles, _, let publication, let details, let arguments):
            for handle in handles {
                guard case .listener(let listener)? = state.pending[handle] else { continue }
                let topic = listener.key.match == .exact ? listener.key.uri : details["topic"]?.string ?? listener.key.uri
                let event = RawEvent(publication: publication, topic: topic, details: details, arguments: arguments)
                if let place = listener.mailbox.push(event) { state.deeds.append(.wake(place)) }
            }
        case .gap(let handles, let gap):
            for handle in handles {
                guard case .listener(let listener)? = state.pending[handle] else { continue }
                if let place = listener.mailbox.push(EventGap(gap)) { state.deeds.append(.wake(place)) }
            }
        case .registered(let handle, _):
            guard case .procedure(var offer)? = state.pending[handle] else { break }
            offer.registration.stand(true)
            state.deeds.append(.announce(offer.registration.changes))
            guard let reply = offer.reply.take() else { break }
            state.pending[handle] = .procedure(offer)
            state.deeds.append(.start(reply, .success(())))
        case .suspended(let handle):
            guard case .procedure(let offer)? = state.pending[handle] else { break }
            offer.registration.stand(false)
            state.deeds.append(.announce(offer.registration.changes))
        case .invoked(let handle, let procedure, let details, let arguments): invoke(handle, procedure, details, arguments, &state)
        case .invokedFurther(let handle, let arguments, let isFinal):
            guard let running = state.running[handle], let input = running.input else { break }
            guard input.push(arguments, isFinal: isFinal) else {
                // The handler is too slow, and a part of its input is not to be left out.
                let late = WAMPFailure(WAMPURI.Error.unavailable, ["the input comes too fast"])
                // Answered first: what it says when its input ends is no answer any more.
                state.deeds += [.answer(handle, .failure(late)), .cancel(running.task)]
                break
            }
            if isFinal { state.deeds.append(.finish(input, .success(()))) }
            state.deeds.append(.announce(input.changes))
        case .interrupted(let handle, _):
            guard let running = state.running[handle] else { break }
            state.deeds.append(.cancel(running.task))
            if let input = running.input { state.deeds.append(.finish(input, .success(()))) }
        }
    }

    private func hearResult(
        _ handle: ClientHandle, _ details: ValueMap, _ arguments: WAMPArguments, _ isFinal: Bool, _ state: inout State
    ) {
        switch state.pending[handle] {
        case .call(let reply, _)? where isFinal:
            state.pending[handle] = nil
            state.deeds.append(.call(reply, .success(arguments)))
        case .progress(let mailbox, let request)?:
            if isFinal { state.pending[handle] = nil }
            if !mailbox.push(arguments, isFinal: isFinal) {
                // The consumer is too slow, and a part of a result is not to be left out.
                state.pending[handle] = nil
                state.deeds.append(.tell(.cancel(handle)))
                state.deeds.append(.finish(mailbox, .failure(WAMPError(.overrun, request: "\(request)", wasSent: true))))
            } else if isFinal {
                state.deeds.append(.finish(mailbox, .success(())))
            }
            state.deeds.append(.announce(mailbox.changes))
        default: break
        }
    }

    /// Something that the app waits for or has is over; without a failure because all is.
    func end(_ handle: ClientHandle, _ failure: ClientFailure?, _ state: inout State) {
        guard let pending = state.pending.removeValue(forKey: handle) else { return }
        let (cause, ending) = (state.cause, state.ending)
        func error(_ request: String) -> WAMPError {
            // Why the session has ended says more than that it has.
            if let failure, failure != .ended { return WAMPError(failure, of: request, because: cause ?? ending) }
            return (ending ?? WAMPError(.closed)).of(request)
        }
        switch pending {
        case .call(let reply, let request): state.deeds.append(.call(reply, .failure(error("\(request)"))))
        case .progress(let mailbox, let request): state.deeds.append(.finish(mailbox, .failure(error("\(request)"))))
        case .publication(let reply, let request): state.deeds.append(.publication(reply, .failure(error("\(request)"))))
        case .listener(let listener):
            let error = error("SUBSCRIBE \(listener.key.uri)")
            state.deeds += listener.mailbox.finish(error.code == .closed ? .success(()) : .failure(error)).map { .wake($0) }
            if let reply = listener.reply { state.deeds.append(.start(reply, .failure(error))) }
        case .leaver(let reply, let request):
            // A session that is over has no subscriptions.
            let isOver = failure.map { $0 == .ended } ?? true
            state.deeds.append(.start(reply, isOver ? .success(()) : .failure(error("\(request)"))))
        case .procedure(let offer):
            let error = error("REGISTER \(offer.registration.uri)")
            offer.registration.end(error)
            state.deeds.append(.announce(offer.registration.changes))
            if let reply = offer.reply {
                state.deeds.append(.start(reply, .failure(error)))
            } else if let failure, failure != .ended {
                // It stood once, and perhaps nobody waits for its end.
                state.deeds.append(.log(error))
            }
        }
        // The last reference to one must not go while the lock is held.
        state.deeds.append(.release(pending))
    }

    // MARK: - Invocations

    private func invoke(
        _ handle: ClientHandle, _ procedure: ClientHandle, _ details: ValueMap, _ arguments: WAMPArguments, _ state: inout State
    ) {
        guard case .procedure(let offer)? = state.pending[procedure] else {
            let gone = WAMPFailure(WAMPURI.Error.noSuchProcedure)
            state.deeds.append(.answer(handle, .failure(gone)))
            return
        }
        let isInParts = !details.isEmpty && details["progress"] == true
        let input = isInParts ? CallMailbox(capacity: CallMailbox.standardCapacity) : nil
        let invocation = Invocation(
            desk: self, handle: handle, uri: details["procedure"]?.string ?? offer.registration.uri, details: details,
            arguments: arguments, input: input)
        let (handler, failure) = (offer.handler, options.failure)
        // SAFETY: kept in `running` until it ends; cancelled by an interrupt, by the loss of the connection, and at the end.
        let task = Task {
            let outcome: Result<WAMPArguments, WAMPFailure>
            do { outcome = .success(try await handler(arguments, invocation)) } catch {
                outcome = .failure(WAMPFailure(of: error, failure))
            }
            self.answer(handle, outcome)
        }
        offer.registration.run()
        state.running[handle] = Running(task: task, input: input, registration: offer.registration)
    }

    /// A handler has ended.
    func answer(_ handle: ClientHandle, _ outcome: Result<WAMPArguments, WAMPFailure>) {
        change { state, now in
            switch outcome {
            case .success(let arguments): Self.tell(.yield(handle, arguments, isFinal: true), &state, now)
            case .failure(let failure): Self.tell(.fail(handle, uri: failure.uri, failure.arguments), &state, now)
            }
            guard let running = state.running.removeValue(forKey: handle) else { return }
            if running.isAwaited { running.registration.rest() }
            state.deeds.append(.announce(running.registration.changes))
            if let input = running.input { state.deeds.append(.finish(input, .success(()))) }
        }
    }

    /// A part of an invocation's result.
    func yield(_ handle: ClientHandle, _ arguments: WAMPArguments, _ request: String) async throws(WAMPError) {
        try await roomToSend(within: nil, request)
        tell(.yield(handle, arguments, isFinal: false))
    }
}
