public import Foundation
public import WebSocketCore
import WebSocketRuntime

/// Requests and their answers, over messages.
///
/// A request is sent once, over the present connection or one that opens in time, and never again over another. It ends with exactly one
/// of these: its answer, ``TransportError/Code/timedOut``, ``TransportError/Code/cancelled``, the error of its connection as soon as all
/// messages of that connection were read, or ``TransportError/Code/closed``. Its answer also appears in ``WebSocket/events``, but not in
/// ``WebSocket/messages`` or a typed stream. A request reads by itself if no consumer does. But it cannot read while the buffer of
/// a suspending consumer is full, so do not await a request inside a loop over events: use another task, or a buffer that drops.
extension WebSocket {
    /// Sends a message and waits for the first message that answers it.
    ///
    /// - Parameters:
    ///   - message: The message to send.
    ///   - matching: Returns the answer from a message; nil if the message is no answer. It is called for each message until then. If
    ///     several requests match the same message, the oldest gets it.
    ///   - timeout: The time limit, including the wait for a connection.
    /// - Throws: ``WebSocketError``; ``TransportError/Code/busy`` if ``WebSocketOptions/requestLimit`` requests are already pending.
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
        // The value is set, because only a match ends the exchange without an error.
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

    /// Sends a message with its own id and waits for the answer with the same id.
    ///
    /// - Parameters:
    ///   - correlation: Reads the id from an answer.
    ///   - timeout: The time limit, including the wait for a connection.
    ///   - compose: Returns the message with this id.
    /// - Throws: ``WebSocketError`` as ``request(_:matching:timeout:)-(Message,_,_)`` does.
    public func request(
        by correlation: RequestCorrelation, timeout: Duration = .seconds(30), _ compose: (_ id: UInt64) -> Message
    ) async throws(WebSocketError) -> Message {
        let id = hub.newRequestID()
        let message = compose(id)
        return try await exchange(message, .correlated(correlation, id: id), timeout)
    }

    /// Sends a value with its own id and waits for the answer with the same id; ``WebSocketOptions/codec`` encodes and decodes.
    ///
    /// Text and bytes, as a request or as its answer, are not encoded: they are sent and returned unchanged.
    ///
    /// - Parameters:
    ///   - answer: The type of the answer.
    ///   - correlation: Reads the id from an answer; nil: under the key `id`, in the codec's format.
    ///   - timeout: The time limit, including the wait for a connection.
    ///   - compose: Returns the value with this id.
    /// - Throws: ``WebSocketError`` as ``request(_:matching:timeout:)-(Message,_,_)`` does; ``TransportError/Code/codec`` if the
    ///   value cannot be encoded or the answer cannot be decoded.
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

    /// Sends the request and waits for the answer, at most until the timeout.
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
            // Registered before the message is sent, because the answer may come quickly.
            let request = try hub.expect(pattern, on: connection)
            defer { hub.forget(request) }
            try await connection.send(message)
            return await hub.answer(to: request)
        } catch {
            return .failure(error)
        }
    }
}
