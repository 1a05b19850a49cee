public import WebSocketCore
import WebSocketRuntime

/// The messages that a peer sends, in order; see ``WebSocketConnection/messages``.
public struct WebSocketMessages: AsyncSequence, Sendable {
    /// A whole message.
    public typealias Element = Message
    /// The error after which the sequence ends.
    public typealias Failure = WebSocketError
    let connection: WebSocketConnection

    /// Starts to take messages.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(taker: MessageTaker(connection)) }

    /// Iterates over the messages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error after which the sequence ends.
        public typealias Failure = WebSocketError
        @usableFromInline let taker: MessageTaker

        /// Waits for the next message; nil after a normal end.
        public mutating func next() async throws(WebSocketError) -> Message? { try await next(isolation: nil) }

        /// Waits for the next message; nil after a normal end.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Message? {
            if let message = taker.ready() { return message }
            return try await taker.wait()
        }
    }
}

/// Messages that arrived together; see ``WebSocketConnection/batches``.
///
/// ``next()`` creates a ``Message`` for each. ``forEach(_:)`` only lends their bytes, which needs no allocation for
/// short messages.
public struct MessageBatch: Sendable {
    private var received: ReceivedBatch
    private let connection: WebSocketConnection

    init(_ received: ReceivedBatch, of connection: WebSocketConnection) { (self.received, self.connection) = (received, connection) }

    /// Removes and returns the first message; nil if the batch is empty.
    public mutating func next() -> Message? {
        while let element = received.popFirst() {
            if let message = connection.whole(element) { return message }
        }
        return nil
    }

    /// Lends each message in turn, and leaves the batch empty.
    ///
    /// The bytes, UTF-8 for text, are valid until `body` returns. If `body` throws, the remaining messages stay in the batch.
    public mutating func forEach<Failure: Error>(_ body: (MessageKind, RawSpan) throws(Failure) -> Void) throws(Failure) {
        while !received.isEmpty {
            try received.lendShort(body)
            guard let message = received.popFirst().flatMap(connection.whole) else { continue }
            let result = message.withBytes { bytes in Result { () throws(Failure) in try body(message.kind, bytes.bytes) } }
            try result.get()
        }
    }
}

/// The messages of a peer in batches; see ``WebSocketConnection/batches``.
public struct WebSocketBatches: AsyncSequence, Sendable {
    /// Some messages; empty if only a part of one has arrived.
    public typealias Element = MessageBatch
    /// The error after which the sequence ends.
    public typealias Failure = WebSocketError
    let connection: WebSocketConnection

    /// Starts to take batches.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(connection: connection) }

    /// Iterates over the batches.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error after which the sequence ends.
        public typealias Failure = WebSocketError
        let connection: WebSocketConnection

        /// Waits for the next batch; nil after a normal end.
        public mutating func next() async throws(WebSocketError) -> MessageBatch? { try await next(isolation: nil) }

        /// Waits for the next batch; nil after a normal end.
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

/// The messages of a peer in pieces as they arrive; see ``WebSocketConnection/chunks``.
public struct WebSocketChunks: AsyncSequence, Sendable {
    /// A piece of a message.
    public typealias Element = MessageChunk
    /// The error after which the sequence ends.
    public typealias Failure = WebSocketError
    let transport: any MessageTransport

    /// Starts to take pieces.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(transport: transport) }

    /// Iterates over the pieces.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error after which the sequence ends.
        public typealias Failure = WebSocketError
        let transport: any MessageTransport

        /// Waits for the next piece; nil after a normal end.
        public mutating func next() async throws(WebSocketError) -> MessageChunk? { try await next(isolation: nil) }

        /// Waits for the next piece; nil after a normal end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> MessageChunk? {
            let received: Received?
            do throws(TransportError) { received = try await transport.receive() } catch { throw WebSocketError(error) }
            switch received {
            case nil: return nil
            case .chunk(let chunk): return chunk
            case .message(.text(let text)): return MessageChunk(kind: .text, bytes: Array(text.utf8), isLast: true)
            case .message(.binary(let bytes)): return MessageChunk(kind: .binary, bytes: bytes, isLast: true)
            }
        }
    }
}

/// Joins received pieces to whole messages.
struct MessageJoiner {
    private var partial: [UInt8] = []

    /// Returns the message that `received` is or completes; nil if more pieces follow.
    mutating func join(_ received: Received) -> Message? {
        switch received {
        case .message(let message): return message
        case .chunk(let chunk):
            partial += chunk.bytes
            guard chunk.isLast else { return nil }
            defer { partial = [] }
            return chunk.kind == .text ? .text(String(decoding: partial, as: UTF8.self)) : .binary(partial)
        }
    }
}

/// Takes received messages in batches for one loop, which gets them one by one.
///
/// When the loop ends, the rest of a batch goes back to the queue for a later loop.
@usableFromInline
final class MessageTaker {
    private let connection: WebSocketConnection
    private let queue: InboundQueue?
    @exclusivity(unchecked) private var batch = ReceivedBatch()

    init(_ connection: WebSocketConnection) {
        self.connection = connection
        queue = (connection.transport as? any BatchTransport)?.inbound
    }

    deinit { if !batch.isEmpty { queue?.putBack(batch) } }

    /// Returns the next message, if one is ready.
    @usableFromInline
    func ready() -> Message? {
        if let message = batch.popShort() { return message }
        while let received = batch.popFirst() {
            if let message = connection.whole(received) { return message }
        }
        return nil
    }

    /// Lends the ready messages that are stored as bytes, until `body` returns false; returns false if there are none.
    func lendReady(_ body: (MessageKind, RawSpan) -> Bool) -> Bool {
        let before = batch.count
        do throws(Enough) {
            try batch.lendShort { kind, payload throws(Enough) in if !body(kind, payload) { throw Enough() } }
        } catch {}
        return batch.count < before
    }

    private struct Enough: Error {}

    /// Waits for the next message when none is ready; nil after a normal end.
    @usableFromInline
    func wait() async throws(WebSocketError) -> Message? {
        do throws(TransportError) { return try await nextOfMore() } catch { throw WebSocketError(error) }
    }

    /// Returns the next message, waiting if necessary; nil after a normal end.
    func next() async throws(TransportError) -> Message? {
        if let message = ready() { return message }
        return try await nextOfMore()
    }

    private func nextOfMore() async throws(TransportError) -> Message? {
        while true {
            if let queue {
                batch = try await queue.nextBatch()
            } else if let received = try await connection.transport.receive() {
                batch.append(received)
            }
            if batch.isEmpty { return nil }
            if let message = ready() { return message }
        }
    }
}
