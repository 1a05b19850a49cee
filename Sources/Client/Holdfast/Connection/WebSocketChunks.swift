public import WebSocketCore
import WebSocketRuntime

/// What a peer sends, in pieces as they arrive; see ``WebSocketConnection/chunks``.
public struct WebSocketChunks: AsyncSequence, Sendable {
    /// A piece of a message.
    public typealias Element = MessageChunk
    /// How it can fail.
    public typealias Failure = WebSocketError
    let transport: any MessageTransport

    /// Starts to take pieces.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(transport: transport) }

    /// Takes pieces one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WebSocketError
        let transport: any MessageTransport

        /// Waits for the next piece; nil after a clean end.
        public mutating func next() async throws(WebSocketError) -> MessageChunk? { try await next(isolation: nil) }

        /// Waits for the next piece; nil after a clean end.
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
