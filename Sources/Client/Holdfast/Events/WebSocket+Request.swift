public import Foundation
public import WebSocketCore
import WebSocketRuntime

/// Requests and their answers, over messages.
///
/// A request is sent once, on the connection that is there or comes in time, and never again on another. It ends in exactly one of: its
/// answer, ``TransportError/Code/timedOut``, ``TransportError/Code/cancelled``, how its connection ended, as soon as that has been read
/// to its end, or ``TransportError/Code/closed``. Its answer is among ``WebSocket/events`` too, and neither among ``WebSocket/messages``
/// nor in a typed stream. It needs nobody who reads; but nor does it get past a consumer who suspends and whose buffer is full, so
/// whoever asks in the midst of a loop over events should have a task for that, or a buffer that drops.
extension WebSocket {
    /// Sends a message and waits for the first one that answers it.
    ///
    /// - Parameters:
    ///   - message: What to send.
    ///   - matching: Makes the answer of a message; nil for a message that is none. Called for each message until then. Of several requests
    ///     that take the same message the oldest gets it.
    ///   - timeout: How long it may take, with the wait for a connection.
    /// - Throws: ``WebSocketError``; ``TransportError/Code/busy`` if ``WebSocketOptions/requestLimit`` requests wait already.
    public func request<Answer: Sendable>(
        _ message: Message, matching: @escaping @Sendable (Message) -> Answer?, timeout: Duration = .seconds(30)
    ) async throws(WebSocketError) -> Answer {
        let found = LockedValue<Answer?>(nil)
        let pattern = RequestTable.Pattern.matching { message in
            guard let answer = matching(message) else { return false }
            found.withLockedValue { $0 = answer }
            return true
        }
        _ = try await exchange(message, pattern, timeout)
        // There is one, for nothing else ends the exchange in peace.
        return found.withLockedValue { $0! }
    }

    /// Sends a text message and waits for the first message that answers it; see ``request(_:matching:timeout:)-(Message,_,_)``.
    public func request<Answer: Sendable>(
        _ text: some StringProtocol, matching: @escaping @Sendable (Message) -> Answer?, timeout: Duration = .seconds(30)
    ) async throws(WebSocketError) -> Answer {
        try await request(.text(String(text)), matching: matching, timeout: timeout)
    }

    /// Sends a binary message and waits for the first message that answers it; see ``request(_:matching:timeout:)-(Message,_,_)``.
    public func request<Answer: Sendable>(
        _ data: Data, matching: @escaping @Sendable (Message) -> Answer?, timeout: Duration = .seconds(30)
    ) async throws(WebSocketError) -> Answer {
        try await request(.binary(data), matching: matching, timeout: timeout)
    }

    /// Sends a value through ``WebSocketOptions/codec`` and waits for the first message that answers it.
    ///
    /// As ``request(_:matching:timeout:)-(Message,_,_)``; throws ``TransportError/Code/codec`` if the value cannot be encoded.
    public func request<Value: Encodable, Answer: Sendable>(
        value: Value, matching: @escaping @Sendable (Message) -> Answer?, timeout: Duration = .seconds(30)
    ) async throws(WebSocketError) -> Answer {
        try await request(encode(value), matching: matching, timeout: timeout)
    }

    /// Sends a message with an id of its own and waits for the answer with the same id.
    ///
    /// - Parameters:
    ///   - correlation: How the id is read from an answer.
    ///   - timeout: How long it may take, with the wait for a connection.
    ///   - compose: Makes the message that is to carry this id.
    /// - Throws: ``WebSocketError`` as ``request(_:matching:timeout:)-(Message,_,_)`` does.
    public func request(
        by correlation: RequestCorrelation, timeout: Duration = .seconds(30), _ compose: (_ id: UInt64) -> Message
    ) async throws(WebSocketError) -> Message {
        let id = hub.newRequestID()
        let message = compose(id)
        return try await exchange(message, .correlated(correlation, id: id), timeout)
    }

    /// Sends a value with an id of its own and waits for the answer with the same id, both through ``WebSocketOptions/codec``.
    ///
    /// Text and bytes, as a request or as its answer, are no values to encode: they go and come as they are.
    ///
    /// - Parameters:
    ///   - answer: What the answer is decoded to.
    ///   - correlation: How the id is read from an answer; nil: from under the key `id`, in the codec's format.
    ///   - timeout: How long it may take, with the wait for a connection.
    ///   - compose: Makes the value that is to carry this id.
    /// - Throws: ``WebSocketError`` as ``request(_:matching:timeout:)-(Message,_,_)`` does; ``TransportError/Code/codec`` if the
    ///   value cannot be encoded, or its answer decoded.
    public func request<Value: Encodable, Answer: Decodable & Sendable>(
        _ answer: Answer.Type = Answer.self, by correlation: RequestCorrelation? = nil, timeout: Duration = .seconds(30),
        _ compose: (_ id: UInt64) -> Value
    ) async throws(WebSocketError) -> Answer {
        let id = hub.newRequestID()
        let message = try message(of: compose(id))
        let correlation = correlation ?? .standard(for: codec)
        return try decode(answer, from: await exchange(message, .correlated(correlation, id: id), timeout))
    }

    private func exchange(
        _ message: Message, _ pattern: RequestTable.Pattern, _ timeout: Duration
    ) async throws(WebSocketError) -> Message {
        try await session.instruments.span("websocket request") { () async throws(WebSocketError) in
            try await exchangeInTime(message, pattern, timeout)
        }
    }

    /// Sends, waits, and is over in time.
    private func exchangeInTime(
        _ message: Message, _ pattern: RequestTable.Pattern, _ timeout: Duration
    ) async throws(WebSocketError) -> Message {
        let outcome = await withTaskGroup(of: RequestTable.Outcome?.self) { [session] group in
            group.addTask { await self.answer(to: message, pattern) }
            group.addTask {
                guard (try? await session.sleep(timeout)) != nil else { return nil }
                return .failure(await session.unanswered(within: timeout))
            }
            defer { group.cancelAll() }
            for await outcome in group { if let outcome { return outcome } }
            return .failure(.cancelledRequest)
        }
        return try outcome.get()
    }

    private func answer(to message: Message, _ pattern: RequestTable.Pattern) async -> RequestTable.Outcome {
        do throws(WebSocketError) {
            let connection = try await session.presentConnection()
            // Before it is sent: the answer may be quick.
            let request = try hub.expect(pattern, on: connection)
            defer { hub.forget(request) }
            try await connection.send(message)
            return await hub.answer(to: request)
        } catch {
            return .failure(error)
        }
    }
}
