import Holdfast
import MachineCore
import HoldfastProtocols
import WAMPCore
import WebSocketRuntime

/// What the app asks for.
extension WAMPShell {
    /// How many messages wait because the connection takes nothing.
    var waitingToSend: Int { outgoing?.count ?? 0 }

    /// Waits while the connection takes nothing, so that what waits to be sent is bounded; and so is the wait.
    ///
    /// - Parameter patience: How long; nil: as long as the router may take to answer.
    /// - Returns: How long it was.
    @discardableResult
    func roomToSend(within patience: Duration?, _ request: @autoclosure () -> String) async throws(WAMPError) -> Duration {
        guard let queue = outgoing, queue.count >= OutgoingLimits.senders else { return .zero }
        let start = time.now()
        let limit = start + (patience ?? context.options.answerPatience).bounded
        await queue.room(below: OutgoingLimits.senders, until: limit, on: time)
        if Task.isCancelled { throw WAMPError(.cancelled, request: request(), wasSent: false) }
        let end = time.now()
        if end >= limit { throw WAMPError(.timedOut, request: request(), wasSent: false, isRetryable: true) }
        return end - start
    }

    /// Starts something, unless all is over or the task is cancelled already; then who waits is told at once.
    private func begin<Value>(
        _ reply: WAMPReply<Value>, _ request: WAMPRequest, _ start: (ClientHandle, inout WAMPView) -> ClientCommand
    ) -> ClientHandle? {
        let isCrowded = waitingToSend >= OutgoingLimits.reader
        let begun = command { view, _ -> (ClientCommand?, Result<ClientHandle, WAMPError>) in
            if view.isOver { return (nil, .failure((view.ending ?? WAMPError(.closed)).of("\(request)"))) }
            // Looked at under the lock: who cancels later finds the handle.
            if reply.isAwaited, Task.isCancelled { return (nil, .failure(WAMPError(.cancelled, request: "\(request)", wasSent: false))) }
            if isCrowded { return (nil, .failure(WAMPError(ClientFailure.tooManyWaiting, of: "\(request)"))) }
            let handle = view.newHandle()
            return (start(handle, &view), .success(handle))
        }
        switch begun {
        case .success(let handle): return handle
        case .failure(let error):
            reply.end(.failure(error))
            return nil
        }
    }

    // MARK: - Calls

    /// Starts a call.
    func beginCall(
        _ uri: String, _ arguments: WAMPArguments, _ options: CallOptions, _ reply: WAMPReply<WAMPArguments>
    ) -> ClientHandle? {
        let request = WAMPRequest(kind: "CALL", uri: uri)
        return begin(reply, request) { handle, view in
            view.pending[handle] = .call(reply, request)
            return .call(handle, procedure: uri, arguments, options)
        }
    }

    func call(_ uri: String, _ arguments: WAMPArguments, _ options: CallOptions) async throws(WAMPError) -> WAMPArguments {
        var options = options
        let waited = try await roomToSend(within: options.timeout ?? options.joinPatience, "CALL \(uri)")
        if let timeout = options.timeout { options.timeout = timeout - waited }
        return try await Reply.wait { [weak self] (handle: ClientHandle) in
            self?.cancel(handle)
        } _: { reply in
            beginCall(uri, arguments, options, reply)
        }.0
    }

    /// Starts a call whose result, and perhaps whose input, comes in parts.
    func beginProgress(_ uri: String, _ arguments: WAMPArguments, _ options: CallOptions, isInParts: Bool) -> CallHandle {
        let request = WAMPRequest(kind: "CALL", uri: uri)
        let mailbox = CallMailbox(capacity: CallMailbox.standardCapacity)
        let handle = begin(.closure { mailbox.finish($0) }, request) { handle, view in
            view.pending[handle] = .progress(mailbox, request)
            return isInParts
                ? .callInParts(handle, procedure: uri, arguments, options) : .call(handle, procedure: uri, arguments, options)
        }
        return CallHandle(shell: self, handle: handle, mailbox: mailbox, request: request)
    }

    /// Sends the next part of a call's input; false while the call waits for the session, or has ended.
    func send(_ handle: ClientHandle, _ part: WAMPArguments, isLast: Bool) -> Bool {
        command { view, _ in
            let isUnderWay = view.session != nil && view.pending[handle] != nil
            return (isUnderWay ? .part(handle, part, isLast: isLast) : nil, isUnderWay)
        }
    }

    /// The app no longer wants a call's result.
    func cancel(_ handle: ClientHandle) { command(.cancel(handle)) }

    // MARK: - Events

    /// Starts a publication.
    func beginPublication(
        _ uri: String, _ arguments: WAMPArguments, _ options: PublishOptions, _ reply: WAMPReply<WAMPID?>
    ) -> ClientHandle? {
        let request = WAMPRequest(kind: "PUBLISH", uri: uri)
        return begin(reply, request) { handle, view in
            view.pending[handle] = .publication(reply, request)
            return .publish(handle, topic: uri, arguments, options)
        }
    }

    func publish(_ uri: String, _ arguments: WAMPArguments, _ options: PublishOptions) async throws(WAMPError) -> WAMPID? {
        try await roomToSend(within: options.patience, "PUBLISH \(uri)")
        return try await Reply.wait { [weak self] (handle: ClientHandle) in
            self?.cancel(handle)
        } _: { reply in
            beginPublication(uri, arguments, options, reply)
        }.0
    }

    /// Starts a subscription.
    func beginSubscription(
        _ key: TopicKey, _ options: SubscribeOptions, _ mailbox: EventMailbox, _ reply: WAMPReply<Void>
    ) -> ClientHandle? {
        let patience = context.options.requestPatience
        return begin(reply, WAMPRequest(kind: "SUBSCRIBE", uri: key.uri)) { handle, view in
            view.pending[handle] = .listener(.init(key: key, mailbox: mailbox, reply: reply))
            return .subscribe(handle, key, options, patience: patience)
        }
    }

    func subscribe(_ key: TopicKey, _ options: SubscribeOptions, _ buffer: EventBuffer) async throws(WAMPError) -> EventFeed {
        let mailbox = EventMailbox(buffer, "EVENT \(key.uri)")
        let (_, handle) = try await Reply.wait { [weak self] (handle: ClientHandle) in
            self?.unsubscribe(handle)
        } _: { (reply: WAMPReply<Void>) in
            beginSubscription(key, options, mailbox, reply)
        }
        guard let handle else { throw WAMPError(.closed) }
        return EventFeed(self, handle, mailbox)
    }

    /// A subscriber wants no more.
    func unsubscribe(_ handle: ClientHandle) {
        command { view, actions in (view.endListener(handle, &actions) == nil ? nil : .unsubscribe(handle), ()) }
    }

    /// The same; returns when the router has answered, if it has to be asked.
    func endSubscription(_ handle: ClientHandle) async throws(WAMPError) {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, WAMPError>, Never>) in
            let reply = WAMPReply<Void>.continuation(continuation)
            let isListener = command { view, actions in
                guard let key = view.endListener(handle, &actions) else { return (nil, false) }
                view.pending[handle] = .leaver(reply, WAMPRequest(kind: "UNSUBSCRIBE", uri: key.uri))
                return (.endSubscription(handle), true)
            }
            if !isListener { reply.end(.success(())) }
        }
        try result.get()
    }

    // MARK: - Procedures

    /// Starts to offer a procedure.
    func beginRegistration(
        _ uri: String, _ options: RegisterOptions, _ record: RegistrationRecord, _ handler: @escaping ProcedureHandler,
        _ reply: WAMPReply<Void>
    ) -> ClientHandle? {
        let patience = context.options.requestPatience
        return begin(reply, WAMPRequest(kind: "REGISTER", uri: uri)) { handle, view in
            record.begin(handle)
            view.pending[handle] = .procedure(.init(registration: record, handler: handler, reply: reply))
            return .register(handle, procedure: uri, options, patience: patience)
        }
    }

    func register(
        _ uri: String, _ options: RegisterOptions, _ handler: @escaping ProcedureHandler
    ) async throws(WAMPError) -> Registration {
        let record = RegistrationRecord(uri)
        _ = try await Reply.wait { [weak self] (handle: ClientHandle) in
            self?.unregister(handle)
        } _: { (reply: WAMPReply<Void>) in
            beginRegistration(uri, options, record, handler, reply)
        }
        return Registration(shell: self, record: record)
    }

    /// A procedure is offered no longer.
    func unregister(_ handle: ClientHandle) {
        command { view, actions in (view.endOffer(handle, &actions) ? .unregister(handle) : nil, ()) }
    }
}

extension WAMPView {
    fileprivate mutating func endListener(_ handle: ClientHandle, _ actions: inout [Action]) -> TopicKey? {
        guard case .listener(let listener)? = pending[handle] else { return nil }
        pending[handle] = nil
        actions += listener.mailbox.finish(.success(())).map { .wake($0) }
        if let reply = listener.reply {
            actions.append(.start(reply, .failure(WAMPError(.cancelled, request: "SUBSCRIBE \(listener.key.uri)"))))
        }
        actions.append(.release(.listener(listener)))
        return listener.key
    }

    fileprivate mutating func endOffer(_ handle: ClientHandle, _ actions: inout [Action]) -> Bool {
        guard case .procedure(let offer)? = pending[handle] else { return false }
        pending[handle] = nil
        offer.registration.end(nil)
        actions.append(.announce(offer.registration.changes))
        if let reply = offer.reply {
            actions.append(.start(reply, .failure(WAMPError(.cancelled, request: "REGISTER \(offer.registration.uri)"))))
        }
        actions.append(.release(.procedure(offer)))
        return true
    }
}
