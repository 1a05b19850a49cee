import Holdfast
import MachineCore
import ProtocolClient
import WebSocketRuntime
import WAMPCore

/// What the app asks for.
extension WAMPDesk {
    /// What messages are written in at present; nil without a connection.
    var serialization: WAMPSerialization? { state.withLockedValue { $0.link?.serialization } }

    /// How many messages wait because the connection takes nothing.
    var waitingToSend: Int { state.withLockedValue { $0.link?.queue.count ?? 0 } }

    /// Waits while the connection takes nothing, so that what waits to be sent is bounded; and so is the wait.
    ///
    /// - Parameter patience: How long; nil: as long as the router may take to answer.
    /// - Returns: How long it was.
    @discardableResult
    func roomToSend(within patience: Duration?, _ request: @autoclosure () -> String) async throws(WAMPError) -> Duration {
        guard let queue = state.withLockedValue({ $0.link?.queue }), queue.count >= OutgoingLimits.senders else { return .zero }
        let start = time.now()
        let limit = start + (patience ?? options.answerPatience).bounded
        await queue.room(below: OutgoingLimits.senders, until: limit, on: time)
        if Task.isCancelled { throw WAMPError(.cancelled, request: request(), wasSent: false) }
        let end = time.now()
        if end >= limit { throw WAMPError(.timedOut, request: request(), wasSent: false, isRetryable: true) }
        return end - start
    }

    /// Whether so much waits to be sent that who cannot wait is refused.
    private static func isCrowded(_ state: State) -> Bool { (state.link?.queue.count ?? 0) >= OutgoingLimits.reader }

    /// Starts something, unless all is over or the task is cancelled already; then who waits is told at once.
    private func begin<Value>(
        _ reply: WAMPReply<Value>, _ request: WAMPRequest, _ start: (ClientHandle, inout State, Moment) -> Void
    ) -> ClientHandle? {
        var refusal: WAMPError?
        var handle: ClientHandle?
        change { state, now in
            if let ending = state.ending, state.isOver || state.isLeaving {
                refusal = ending.of("\(request)")
            } else if reply.isAwaited, Task.isCancelled {
                // Looked at under the lock: who cancels later finds the handle.
                refusal = WAMPError(.cancelled, request: "\(request)", wasSent: false)
            } else if Self.isCrowded(state) {
                refusal = WAMPError(ClientFailure.tooManyWaiting, of: "\(request)")
            } else {
                let new = Self.newHandle(&state)
                handle = new
                start(new, &state, now)
            }
        }
        if let refusal { reply.end(.failure(refusal)) }
        return handle
    }

    /// Waits for an outcome; when the task is cancelled, what was begun is ended.
    func outcome<Value: Sendable>(
        _ end: @escaping @Sendable (ClientHandle) -> Void, _ begin: (WAMPReply<Value>) -> ClientHandle?
    ) async throws(WAMPError) -> (Value, ClientHandle?) {
        let begun = LockedValue<ClientHandle?>(nil)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, WAMPError>, Never>) in
                guard let handle = begin(.continuation(continuation)) else { return }
                begun.withLockedValue { $0 = handle }
                // It was cancelled after it was begun, and before anybody could say what.
                if Task.isCancelled { end(handle) }
            }
        } onCancel: {
            if let handle = begun.withLockedValue({ $0 }) { end(handle) }
        }
        return (try result.get(), begun.withLockedValue { $0 })
    }

    // MARK: - Calls

    /// Starts a call.
    func beginCall(
        _ uri: String, _ arguments: WAMPArguments, _ options: CallOptions, _ reply: WAMPReply<WAMPArguments>
    ) -> ClientHandle? {
        let request = WAMPRequest(kind: "CALL", uri: uri)
        return begin(reply, request) { handle, state, now in
            state.pending[handle] = .call(reply, request)
            Self.tell(.call(handle, procedure: uri, arguments, options), &state, now)
        }
    }

    func call(_ uri: String, _ arguments: WAMPArguments, _ options: CallOptions) async throws(WAMPError) -> WAMPArguments {
        var options = options
        let waited = try await roomToSend(within: options.timeout ?? options.joinPatience, "CALL \(uri)")
        if let timeout = options.timeout { options.timeout = timeout - waited }
        return try await outcome { [weak self] in
            self?.tell(.cancel($0))
        } _: { reply in
            beginCall(uri, arguments, options, reply)
        }.0
    }

    /// Starts a call whose result, and perhaps whose input, comes in parts.
    func beginProgress(_ uri: String, _ arguments: WAMPArguments, _ options: CallOptions, isInParts: Bool) -> CallHandle {
        let request = WAMPRequest(kind: "CALL", uri: uri)
        let mailbox = CallMailbox(capacity: CallMailbox.standardCapacity)
        let handle = begin(.closure { mailbox.finish($0) }, request) { handle, state, now in
            state.pending[handle] = .progress(mailbox, request)
            Self.tell(
                isInParts
                    ? .callInParts(handle, procedure: uri, arguments, options) : .call(handle, procedure: uri, arguments, options),
                &state, now)
        }
        return CallHandle(desk: self, handle: handle, mailbox: mailbox, request: request)
    }

    /// Sends the next part of a call's input; false while the call waits for the session, or has ended.
    func send(_ handle: ClientHandle, _ part: WAMPArguments, isLast: Bool) -> Bool {
        var isUnderWay = false
        change { state, now in
            isUnderWay = state.session != nil && state.pending[handle] != nil
            if isUnderWay { Self.tell(.part(handle, part, isLast: isLast), &state, now) }
        }
        return isUnderWay
    }

    /// The app no longer wants a call's result.
    func cancel(_ handle: ClientHandle) { tell(.cancel(handle)) }

    // MARK: - Events

    /// Starts a publication.
    func beginPublication(
        _ uri: String, _ arguments: WAMPArguments, _ options: PublishOptions, _ reply: WAMPReply<WAMPID?>
    ) -> ClientHandle? {
        let request = WAMPRequest(kind: "PUBLISH", uri: uri)
        return begin(reply, request) { handle, state, now in
            state.pending[handle] = .publication(reply, request)
            Self.tell(.publish(handle, topic: uri, arguments, options), &state, now)
        }
    }

    func publish(_ uri: String, _ arguments: WAMPArguments, _ options: PublishOptions) async throws(WAMPError) -> WAMPID? {
        try await roomToSend(within: options.patience, "PUBLISH \(uri)")
        return try await outcome { [weak self] in
            self?.tell(.cancel($0))
        } _: { reply in
            beginPublication(uri, arguments, options, reply)
        }.0
    }

    /// Starts a subscription.
    func beginSubscription(
        _ key: TopicKey, _ options: SubscribeOptions, _ mailbox: EventMailbox, _ reply: WAMPReply<Void>
    ) -> ClientHandle? {
        let patience = self.options.requestPatience
        return begin(reply, WAMPRequest(kind: "SUBSCRIBE", uri: key.uri)) { handle, state, now in
            state.pending[handle] = .listener(Listener(key: key, mailbox: mailbox, reply: reply))
            Self.tell(.subscribe(handle, key, options, patience: patience), &state, now)
        }
    }

    func subscribe(_ key: TopicKey, _ options: SubscribeOptions, _ buffer: EventBuffer) async throws(WAMPError) -> EventFeed {
        let mailbox = EventMailbox(buffer, "EVENT \(key.uri)")
        let (_, handle) = try await outcome { [weak self] in
            self?.unsubscribe($0)
        } _: { (reply: WAMPReply<Void>) in
            beginSubscription(key, options, mailbox, reply)
        }
        guard let handle else { throw WAMPError(.closed) }
        return EventFeed(self, handle, mailbox)
    }

    /// A subscriber wants no more.
    func unsubscribe(_ handle: ClientHandle) {
        change { state, now in
            guard case .listener(let listener)? = state.pending[handle] else { return }
            Self.tell(.unsubscribe(handle), &state, now)
            finish(listener, handle, &state)
        }
    }

    /// The same; returns when the router has answered, if it has to be asked.
    func endSubscription(_ handle: ClientHandle) async throws(WAMPError) {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, WAMPError>, Never>) in
            let reply = WAMPReply<Void>.continuation(continuation)
            var isListener = false
            change { state, now in
                guard case .listener(let listener)? = state.pending[handle] else { return }
                isListener = true
                finish(listener, handle, &state)
                state.pending[handle] = .leaver(reply, WAMPRequest(kind: "UNSUBSCRIBE", uri: listener.key.uri))
                Self.tell(.endSubscription(handle), &state, now)
            }
            if !isListener { reply.end(.success(())) }
        }
        try result.get()
    }

    private func finish(_ listener: Listener, _ handle: ClientHandle, _ state: inout State) {
        state.pending[handle] = nil
        state.deeds += listener.mailbox.finish(.success(())).map { .wake($0) }
        if let reply = listener.reply {
            state.deeds.append(.start(reply, .failure(WAMPError(.cancelled, request: "SUBSCRIBE \(listener.key.uri)"))))
        }
        state.deeds.append(.release(.listener(listener)))
    }

    // MARK: - Procedures

    /// Starts to offer a procedure.
    func beginRegistration(
        _ uri: String, _ options: RegisterOptions, _ record: RegistrationRecord, _ handler: @escaping ProcedureHandler,
        _ reply: WAMPReply<Void>
    ) -> ClientHandle? {
        let patience = self.options.requestPatience
        return begin(reply, WAMPRequest(kind: "REGISTER", uri: uri)) { handle, state, now in
            record.begin(handle)
            state.pending[handle] = .procedure(Offer(registration: record, handler: handler, reply: reply))
            Self.tell(.register(handle, procedure: uri, options, patience: patience), &state, now)
        }
    }

    func register(
        _ uri: String, _ options: RegisterOptions, _ handler: @escaping ProcedureHandler
    ) async throws(WAMPError) -> Registration {
        let record = RegistrationRecord(uri)
        _ = try await outcome { [weak self] in
            self?.unregister($0)
        } _: { (reply: WAMPReply<Void>) in
            beginRegistration(uri, options, record, handler, reply)
        }
        return Registration(desk: self, record: record)
    }

    /// A procedure is offered no longer.
    func unregister(_ handle: ClientHandle) {
        change { state, now in
            guard case .procedure(let offer)? = state.pending[handle] else { return }
            state.pending[handle] = nil
            Self.tell(.unregister(handle), &state, now)
            offer.registration.end(nil)
            state.deeds.append(.announce(offer.registration.changes))
            if let reply = offer.reply {
                state.deeds.append(.start(reply, .failure(WAMPError(.cancelled, request: "REGISTER \(offer.registration.uri)"))))
            }
            state.deeds.append(.release(.procedure(offer)))
        }
    }
}
