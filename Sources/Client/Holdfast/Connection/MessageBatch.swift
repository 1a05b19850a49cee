public import WebSocketCore
import WebSocketRuntime

/// Messages that came together; see ``WebSocketConnection/batches``.
///
/// Taking them with ``next()`` makes a ``Message`` of each. ``forEach(_:)`` only lends their bytes, which allocates nothing for
/// short ones.
public struct MessageBatch: Sendable {
    private var received: ReceivedBatch
    private let connection: WebSocketConnection

    init(_ received: ReceivedBatch, of connection: WebSocketConnection) { (self.received, self.connection) = (received, connection) }

    /// Removes the first message and returns it; nil when there is none left.
    public mutating func next() -> Message? {
        while let element = received.popFirst() {
            if let message = connection.whole(element) { return message }
        }
        return nil
    }

    /// Lends each message in turn, and leaves the batch empty.
    ///
    /// The bytes, UTF-8 if it is text, are valid until `body` returns. When it throws, the rest stays in the batch.
    public mutating func forEach<Failure: Error>(_ body: (MessageKind, RawSpan) throws(Failure) -> Void) throws(Failure) {
        while !received.isEmpty {
            try received.lendShort(body)
            guard let message = received.popFirst().flatMap(connection.whole) else { continue }
            let result = message.withBytes { bytes in Result { () throws(Failure) in try body(message.kind, bytes.bytes) } }
            try result.get()
        }
    }
}

/// What a peer sends, as many messages at once as there are; see ``WebSocketConnection/batches``.
public struct WebSocketBatches: AsyncSequence, Sendable {
    /// Some messages; none if only a part of one came.
    public typealias Element = MessageBatch
    /// How it can fail.
    public typealias Failure = WebSocketError
    let connection: WebSocketConnection

    /// Starts to take batches.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(connection: connection) }

    /// Takes batches one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WebSocketError
        let connection: WebSocketConnection

        /// Waits for the next batch; nil after a clean end.
        public mutating func next() async throws(WebSocketError) -> MessageBatch? { try await next(isolation: nil) }

        /// Waits for the next batch; nil after a clean end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> MessageBatch? {
            do throws(TransportError) {
                if let transport = connection.transport as? any BatchTransport {
                    let batch = try await transport.inbound.nextBatch()
                    return batch.isEmpty ? nil : MessageBatch(batch, of: connection)
                }
                return try await connection.transport.receive().map { MessageBatch(ReceivedBatch(CollectionOfOne($0)), of: connection) }
            } catch {
                throw WebSocketError(error)
            }
        }
    }
}
