import Holdfast
import MachineCore
import HoldfastProtocols
import WAMPCore
import WebSocketRuntime

/// The operations that the app calls.
extension WAMPShell {
    /// The number of messages that wait because the connection accepts no data.
    var waitingToSend: Int { outgoing?.count ?? 0 }

    /// Waits while the connection accepts no data, so that the number of waiting messages is bounded; the wait is bounded too.
    ///
    /// - Parameter patience: How long to wait; nil waits as long as the router may take to answer.
    /// - Returns: How long it waited.
    @discardableResult
    func roomToSend(within patience: Duration?, _ request: @autoclosure () -> String) async throws(WAMPError) -> Duration {
        let patience = (patience ?? context.options.answerPatience).bounded
        guard let waited = await waitForRoom(within: patience) else { return .zero }
        if Task.isCancelled { throw WAMPError(.cancelled, request: request(), wasSent: false) }
        if waited >= patience { throw WAMPError(.timedOut, request: request(), wasSent: false, isRetryable: true) }
        return waited
    }

    /// Begins a request, unless the client is closed or the task is already cancelled; then the caller gets the error at once.
    private func begin<Value>(
        _ reply: WAMPReply<Value>, _ request: WAMPRequest, _ purpose: WAMPView.Pending.Purpose, standing: WAMPReply<Void>? = nil,
        _ command: (ClientHandle) -> ClientCommand
    ) -> ClientHandle? {
        let isCrowded = waitingToSend >= OutgoingLimits.reader
        let begun = self.command { view, _ -> (ClientCommand?, Result<ClientHandle, WAMPError>) in
            if let ending = view.standing.ending { return (nil, .failure(ending.of("\(request)"))) }
            // Checked under the lock: a later cancellation finds the handle.
            if reply.isAwaited, Task.isCancelled { return (nil, .failure(WAMPError(.cancelled, request: "\(request)", wasSent: false))) }
            if isCrowded { return (nil, .failure(WAMPError(ClientFailure.tooManyWaiting, of: "\(request)"))) }
            let handle = view.newHandle()
            view.pending[handle] = WAMPView.Pending(request: request, purpose: purpose, reply: standing)
            return (command(handle), .success(handle))
        }
        if case .failure(let error) = begun { reply.end(.failure(error)) }
        return try? begun.get()
    }

    /// Begins a request and waits for its result; cancels it when the task is cancelled.
    private func wait<Value: Sendable>(
        _ begin: (WAMPReply<Value>) -> ClientHandle?
    ) async throws(WAMPError) -> (value: Value, handle: ClientHandle?) {
        try await WAMPReply<Value>.wait(endingWith: { [weak self] handle in self?.giveUp(handle) }, begin)
    }

    /// Cancels or ends something that the app has begun.
    func giveUp(_ handle: ClientHandle) { command { view, actions in (view.giveUp(handle, &actions), ()) } }

    // MARK: - Calls

    /// Begins a call.
    func beginCall(
        _ uri: String, _ arguments: WAMPArguments, _ options: CallOptions, _ reply: WAMPReply<WAMPArguments>
    ) -> ClientHandle? {
        begin(reply, WAMPRequest(kind: "CALL", uri: uri), .call(reply)) { .call($0, procedure: uri, arguments, options) }
    }

    func call(_ uri: String, _ arguments: WAMPArguments, _ options: CallOptions) async throws(WAMPError) -> WAMPArguments {
        var options = options
        let waited = try await roomToSend(within: options.timeout ?? options.joinPatience, "CALL \(uri)")
        if let timeout = options.timeout { options.timeout = timeout - waited }
        return try await wait { beginCall(uri, arguments, options, $0) }.value
    }

    /// Begins a call whose result, and possibly whose input, comes in parts.
    func beginProgress(_ uri: String, _ arguments: WAMPArguments, _ options: CallOptions, isInParts: Bool) -> CallHandle {
        var options = options
        options.wantsProgress = true
        let (request, mailbox) = (WAMPRequest(kind: "CALL", uri: uri), CallMailbox(time))
        let handle = begin(.closure { mailbox.finish($0) }, request, .progress(mailbox)) {
            isInParts ? .callInParts($0, procedure: uri, arguments, options) : .call($0, procedure: uri, arguments, options)
        }
        return CallHandle(shell: self, handle: handle, mailbox: mailbox, request: request)
    }

    /// Sends the next part of a call's input; returns false while the call waits for the session, and after it has ended.
    func send(_ handle: ClientHandle, _ part: WAMPArguments, isLast: Bool) -> Bool {
        command { view, _ in
            let isUnderWay = view.standing.session != nil && view.pending[handle] != nil
            return (isUnderWay ? .part(handle, part, isLast: isLast) : nil, isUnderWay)
        }
    }

    // MARK: - Events

    /// Begins a publication.
    func beginPublication(
        _ uri: String, _ arguments: WAMPArguments, _ options: PublishOptions, _ reply: WAMPReply<WAMPID?>
    ) -> ClientHandle? {
        begin(reply, WAMPRequest(kind: "PUBLISH", uri: uri), .publication(reply)) { .publish($0, topic: uri, arguments, options) }
    }

    func publish(_ uri: String, _ arguments: WAMPArguments, _ options: PublishOptions) async throws(WAMPError) -> WAMPID? {
        try await roomToSend(within: options.patience, "PUBLISH \(uri)")
        return try await wait { beginPublication(uri, arguments, options, $0) }.value
    }

    func subscribe(_ key: TopicKey, _ options: SubscribeOptions, _ buffer: EventBuffer) async throws(WAMPError) -> EventFeed {
        let mailbox = EventMailbox(buffer.line, time: time)
        let patience = context.options.requestPatience
        let (_, handle) = try await wait { reply in
            begin(reply, WAMPRequest(kind: "SUBSCRIBE", uri: key.uri), .listener(mailbox, key), standing: reply) {
                .subscribe($0, key, options, patience: patience)
            }
        }
        guard let handle else { throw WAMPError(.closed) }
        return EventFeed(self, handle, mailbox)
    }

    /// Ends the subscription of one subscriber; returns when the router has answered, if it has to be asked.
    func endSubscription(_ handle: ClientHandle) async throws(WAMPError) {
        _ = try await wait { (reply: WAMPReply<Void>) in
            let isListener = command { view, actions in
                guard case .listener(_, let key)? = view.pending[handle]?.purpose else { return (nil, false) }
                _ = view.giveUp(handle, &actions)
                view.pending[handle] = .init(request: WAMPRequest(kind: "UNSUBSCRIBE", uri: key.uri), purpose: .unsubscribing(reply))
                return (.endSubscription(handle), true)
            }
            if !isListener { reply.end(.success(())) }
            return nil
        }
    }

    // MARK: - Procedures

    /// Begins a registration.
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
        _ = try await wait { beginRegistration(uri, options, record, handler, $0) }
        return Registration(shell: self, record: record)
    }
}

extension WAMPView {
    /// Cancels or ends something that the app has begun.
    ///
    /// Calls and publications stay pending until the machine reports their end.
    fileprivate mutating func giveUp(_ handle: ClientHandle, _ actions: inout [Action]) -> ClientCommand? {
        guard let pending = pending[handle] else { return nil }
        let command: ClientCommand
        switch pending.purpose {
        case .call, .progress, .publication: return .cancel(handle)
        case .unsubscribing: return nil
        case .listener(let mailbox, _):
            mailbox.finish(.success(()))
            command = .unsubscribe(handle)
        case .procedure(let registration, _):
            registration.end(nil)
            actions.append(.announce(registration.changes))
            command = .unregister(handle)
        }
        self.pending[handle] = nil
        if let reply = pending.reply { actions.append(.end(reply, .failure(WAMPError(.cancelled, request: "\(pending.request)")))) }
        actions.append(.release(pending))
        return command
    }
}
