public import SessionCore
public import WebSocketCore
import WebSocketRuntime

/// Turns values into messages, and payloads of messages into values.
///
/// ``JSONCodec`` is one; any other format is a type of yours. It is called from any task, by several at once.
public protocol MessageCodec: Sendable {
    /// What the format is called where both sides have to agree on it, such as the end of a subprotocol's name: `json`.
    var name: String { get }

    /// Makes the message that stands for a value.
    func encode<Value: Encodable>(_ value: Value) throws -> Message

    /// Makes the value that a payload stands for; the bytes, UTF-8 if it is text, are lent for the time of the call.
    func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value
}

extension MessageCodec {
    /// Makes the value that a message stands for.
    public func decode<Value: Decodable>(_ type: Value.Type, from message: Message) throws -> Value {
        try message.withBytes { try decode(type, from: $0.bytes, message.kind) }
    }
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
