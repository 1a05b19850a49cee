import CodecCore
import WebSocketRuntime
public import WAMPCore

extension WAMPClient {
    /// Has the router publish an event when this client is gone; returns when the router has taken that.
    ///
    /// It is handed in anew each time the client joins again, for the router publishes it at every loss. ``close()`` is a loss too: call
    /// ``flushTestaments(_:)`` before it where nothing is to be published.
    ///
    /// - Parameters:
    ///   - topic: Where to.
    ///   - content: The event.
    ///   - options: How it is published.
    ///   - scope: When.
    public func addTestament<Content>(
        _ topic: Topic<Content>, _ content: Content, options: PublishOptions = PublishOptions(), scope: TestamentScope = .destroyed
    ) async throws(WAMPError) {
        let testament = try WAMPTestament(topic, content, options, scope, desk.serialization)
        try await desk.settle(WAMPTestament.procedure) { desk.begin(testament, $0) }
    }

    /// Has the router forget the testaments of a scope.
    public func flushTestaments(_ scope: TestamentScope = .destroyed) async throws(WAMPError) {
        try await desk.settle(WAMPTestament.flush) { desk.beginFlush(scope, $0) }
    }
}

extension WAMPTestament {
    init<Content>(
        _ topic: Topic<Content>, _ content: Content, _ options: PublishOptions, _ scope: TestamentScope, _ serialization: WAMPSerialization?
    ) throws(WAMPError) {
        do {
            try self.init(topic: topic.uri, arguments: topic.form.encode(content, serialization), options: options, scope: scope)
        } catch {
            throw .unencodable(error, "CALL \(Self.procedure)")
        }
    }
}

extension WAMPDesk {
    /// Hands a testament in.
    func begin(_ testament: WAMPTestament, _ reply: @escaping @Sendable (Result<Void, WAMPError>) -> Void) -> ClientHandle? {
        beginCall(
            WAMPTestament.procedure, testament.call, CallOptions(timeout: options.answerPatience),
            .closure { [weak self] result in
                // Kept before anything else that comes is looked at: it may be the loss of the session that has it.
                if case .success = result { self?.state.withLockedValue { $0.testaments.append(testament) } }
                reply(result.map { _ in })
            })
    }

    /// Has the testaments of a scope forgotten, here and by the router.
    func beginFlush(_ scope: TestamentScope, _ reply: @escaping @Sendable (Result<Void, WAMPError>) -> Void) -> ClientHandle? {
        state.withLockedValue { $0.testaments.removeAll { $0.scope == scope } }
        let call = WAMPArguments(keywords: ["scope": .text(scope.rawValue)])
        return beginCall(WAMPTestament.flush, call, CallOptions(timeout: options.answerPatience), .closure { reply($0.map { _ in }) })
    }

    /// Begins one of these, and waits for it.
    func settle(
        _ procedure: String, _ begin: (@escaping @Sendable (Result<Void, WAMPError>) -> Void) -> ClientHandle?
    ) async throws(WAMPError) {
        try await roomToSend(within: options.answerPatience, "CALL \(procedure)")
        _ = try await outcome { [weak self] in
            self?.cancel($0)
        } _: { (reply: WAMPReply<Void>) in
            begin { reply.end($0) }
        }
    }

    /// The session is another, and the router knows no testament of it.
    ///
    /// However much waits to be sent: nobody else would try again.
    func restoreTestaments() {
        change { state, now in
            for testament in state.testaments {
                let handle = Self.newHandle(&state)
                let reply = WAMPReply<WAMPArguments>.closure { [weak self] result in
                    // With the connection lost again the next one tries again.
                    if case .failure(let error) = result, ![.connectionLost, .notJoined].contains(error.code) { self?.log(error) }
                }
                state.pending[handle] = .call(reply, WAMPRequest(kind: "CALL", uri: WAMPTestament.procedure))
                let options = CallOptions(timeout: options.answerPatience, joinPatience: nil)
                Self.tell(.call(handle, procedure: WAMPTestament.procedure, testament.call, options), &state, now)
            }
        }
    }
}
