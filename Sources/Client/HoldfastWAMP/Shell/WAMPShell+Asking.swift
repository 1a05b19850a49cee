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
        _ reply: WAMPReply<Value>, _ request: WAMPRequest, _ purpose: WAMPView.Pending.Purpose, standing: WAMPReply<Void>? = nil,
        _ command: (ClientHandle) -> ClientCommand
    ) -> ClientHandle? {
        let isCrowded = waitingToSend >= OutgoingLimits.reader
        let begun = self.command { view, _ -> (ClientCommand?, Result<ClientHandle, WAMPError>) in
            if view.isOver { return (nil, .failure((view.ending ?? WAMPError(.closed)).of("\(request)"))) }
            // Looked at under the lock: who cancels later finds the handle.
            if reply.isAwaited, Task.isCancelled { return (nil, .failure(WAMPError(.cancelled, request: "\(request)", wasSent: false))) }
            if isCrowded { return (nil, .failure(WAMPError(ClientFailure.tooManyWaiting, of: "\(request)"))) }
            let handle = view.newHandle()
            view.pending[handle] = WAMPView.Pending(request: request, purpose: purpose, reply: standing)
            return (command(handle), .success(handle))
        }
        switch begun {
        case .success(let handle): return handle
        case .failure(let error):
            reply.end(.failure(error))
            return nil
        }
    }

    /// Begins something, and waits for its outcome; when the task is cancelled, it is ended.
    private func wait<Value: Sendable>(
        endingWith end: @escaping @Sendable (WAMPShell, ClientHandle) -> Void, _ begin: (WAMPReply<Value>) -> ClientHandle?
    ) async throws(WAMPError) -> (Value, ClientHandle?) {
        try await WAMPReply<Value>.wait(endingWith: { [weak self] handle in if let self { end(self, handle) } }, begin)
    }

    // MARK: - Calls

    /// Starts a call.
    func beginCall(
        _ uri: String, _ arguments: WAMPArguments, _ options: CallOptions, _ reply: WAMPReply<WAMPArguments>
    ) -> ClientHandle? {
        begin(reply, WAMPRequest(kind: "CALL", uri: uri), .call(reply)) { .call($0, procedure: uri, arguments, options) }
    }

    func call(_ uri: String, _ arguments: WAMPArguments, _ options: CallOptions) async throws(WAMPError) -> WAMPArguments {
        var options = options
        let waited = try await roomToSend(within: options.timeout ?? options.joinPatience, "CALL \(uri)")
        if let timeout = options.timeout { options.timeout = timeout - waited }
        return try await wait(endingWith: { $0.cancel($1) }) { beginCall(uri, arguments, options, $0) }.0
    }

    /// Starts a call whose result, and perhaps whose input, comes in parts.
    func beginProgress(_ uri: String, _ arguments: WAMPArguments, _ options: CallOptions, isInParts: Bool) -> CallHandle {
        let request = WAMPRequest(kind: "CALL", uri: uri)
        let mailbox = CallMailbox(time)
        let handle = begin(.closure { mailbox.finish($0) }, request, .progress(mailbox)) {
            isInParts ? .callInParts($0, procedure: uri, arguments, options) : .call($0, procedure: uri, arguments, options)
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
        begin(reply, WAMPRequest(kind: "PUBLISH", uri: uri), .publication(reply)) { .publish($0, topic: uri, arguments, options) }
    }

    func publish(_ uri: String, _ arguments: WAMPArguments, _ options: PublishOptions) async throws(WAMPError) -> WAMPID? {
        try await roomToSend(within: options.patience, "PUBLISH \(uri)")
        return try await wait(endingWith: { $0.cancel($1) }) { beginPublication(uri, arguments, options, $0) }.0
    }

    func subscribe(_ key: TopicKey, _ options: SubscribeOptions, _ buffer: EventBuffer) async throws(WAMPError) -> EventFeed {
        let mailbox = EventMailbox(buffer.line, time: time)
        let patience = context.options.requestPatience
        let (_, handle) = try await wait(endingWith: { $0.unsubscribe($1) }) { reply in
            begin(reply, WAMPRequest(kind: "SUBSCRIBE", uri: key.uri), .listener(mailbox, key), standing: reply) {
                .subscribe($0, key, options, patience: patience)
            }
        }
        guard let handle else { throw WAMPError(.closed) }
        return EventFeed(self, handle, mailbox)
    }

    /// A subscriber wants no more.
    func unsubscribe(_ handle: ClientHandle) {
        command { view, actions in (view.take(handle, &actions) == nil ? nil : .unsubscribe(handle), ()) }
    }

    /// The same; returns when the router has answered, if it has to be asked.
    func endSubscription(_ handle: ClientHandle) async throws(WAMPError) {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, WAMPError>, Never>) in
            let reply = WAMPReply<Void>.continuation(continuation)
            let isListener = command { view, actions in
                guard let listener = view.take(handle, &actions) else { return (nil, false) }
                let request = WAMPRequest(kind: "UNSUBSCRIBE", uri: listener.request.uri)
                view.pending[handle] = WAMPView.Pending(request: request, purpose: .leaver(reply))
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
        return begin(reply, WAMPRequest(kind: "REGISTER", uri: uri), .procedure(record, handler), standing: reply) { handle in
            record.begin(handle)
            return .register(handle, procedure: uri, options, patience: patience)
        }
    }

    func register(
        _ uri: String, _ options: RegisterOptions, _ handler: @escaping ProcedureHandler
    ) async throws(WAMPError) -> Registration {
        let record = RegistrationRecord(uri)
        _ = try await wait(endingWith: { $0.unregister($1) }) { beginRegistration(uri, options, record, handler, $0) }
        return Registration(shell: self, record: record)
    }

    /// A procedure is offered no longer.
    func unregister(_ handle: ClientHandle) {
        command { view, actions in (view.take(handle, &actions) == nil ? nil : .unregister(handle), ()) }
    }
}

extension WAMPView {
    /// The app wants a subscription or registration no longer; nil if it has ended.
    fileprivate mutating func take(_ handle: ClientHandle, _ actions: inout [Action]) -> Pending? {
        guard let pending = pending[handle] else { return nil }
        switch pending.purpose {
        case .listener(let mailbox, _): mailbox.finish(.success(()))
        case .procedure(let registration, _):
            registration.end(nil)
            actions.append(.announce(registration.changes))
        case .call, .progress, .publication, .leaver: return nil
        }
        self.pending[handle] = nil
        if let reply = pending.reply { actions.append(.start(reply, .failure(WAMPError(.cancelled, request: "\(pending.request)")))) }
        actions.append(.release(pending))
        return pending
    }
}
