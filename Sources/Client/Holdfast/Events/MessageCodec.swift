public import SessionCore
public import WebSocketCore
import WebSocketRuntime

/// Turns values into messages, and messages into values.
///
/// ``JSONMessageCodec`` is one; any other format is a type of yours. It is called from any task, by several at once.
public protocol MessageCodec: Sendable {
    /// Makes the message that stands for a value.
    func encode<Value: Encodable>(_ value: Value) throws -> Message

    /// Makes the value that a message stands for.
    func decode<Value: Decodable>(_ type: Value.Type, from message: Message) throws -> Value
}

extension WebSocket {
    /// Sends a value as the message that ``WebSocketOptions/codec`` makes of it, and as any other message.
    ///
    /// - Parameters:
    ///   - value: What to send.
    ///   - lane: What waits in a higher lane goes first.
    ///   - timeout: How long it may wait for a connection to take it; nil: as long as the policy says.
    /// - Returns: What tells of the message's end; to be ignored by those who do not care.
    /// - Throws: ``WebSocketError`` as for a message; ``TransportError/Code/codec`` if the value cannot be encoded.
    @discardableResult
    public func send<Value: Encodable>(
        _ value: Value, lane: Lane = .normal, timeout: Duration? = nil
    ) async throws(WebSocketError) -> SendReceipt {
        try await send(encode(value), lane: lane, timeout: timeout)
    }

    func encode<Value: Encodable>(_ value: Value) throws(WebSocketError) -> Message {
        do { return try codec.encode(value) } catch {
            throw WebSocketError(TransportError(.codec, "a \(Value.self) could not be encoded", underlying: error))
        }
    }

    func decode<Value: Decodable>(_ type: Value.Type, from message: Message) throws(WebSocketError) -> Value {
        do { return try codec.decode(type, from: message) } catch {
            throw WebSocketError(TransportError(.codec, "an answer is no \(type)", underlying: error))
        }
    }
}
