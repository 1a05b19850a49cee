public import Foundation
public import WebSocketCore
import WebSocketRuntime

/// Encodes values as messages, and decodes payloads of messages into values.
///
/// ``JSONCodec`` is one; for any other format write your own type. Several tasks may call it at the same time.
public protocol MessageCodec: Sendable {
    /// The name of the format where both sides have to agree on it, such as the end of a subprotocol's name: `json`.
    var name: String { get }

    /// Encodes a value as a message.
    func encode<Value: Encodable>(_ value: Value) throws -> Message

    /// Decodes a payload into a value; the bytes, UTF-8 for text, are valid only during the call.
    func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value
}

extension MessageCodec {
    /// Decodes a message into a value.
    public func decode<Value: Decodable>(_ type: Value.Type, from message: Message) throws -> Value {
        try message.withBytes { try decode(type, from: $0.bytes, message.kind) }
    }
}

extension WebSocket {
    func encode<Value: Encodable>(_ value: Value) throws(WebSocketError) -> Message {
        do { return try codec.encode(value) } catch {
            throw WebSocketError(TransportError(.codec, "a \(Value.self) could not be encoded", underlying: error))
        }
    }

    /// Returns the message for a composed request: text and bytes unchanged, any other value encoded by the codec.
    func message<Value: Encodable>(of value: Value) throws(WebSocketError) -> Message {
        switch value {
        case let text as String: .text(text)
        case let data as Data: .binary(data)
        case let bytes as [UInt8] where Value.self == [UInt8].self: .binary(bytes)
        default: try encode(value)
        }
    }

    func decode<Value: Decodable & Sendable>(_ type: Value.Type, from message: Message) throws(WebSocketError) -> Value {
        do { return try message.withBytes { try MessageDecoding<Value>(codec).decode($0.bytes, message.kind) } } catch {
            throw WebSocketError(TransportError(.codec, "the answer could not be decoded as \(type)", underlying: error))
        }
    }
}

/// Encodes values as JSON, with Foundation's `JSONEncoder` and `JSONDecoder`.
///
/// It decodes text and binary messages alike.
public struct JSONCodec: MessageCodec {
    /// `json`.
    public var name: String { "json" }
    private let kind: MessageKind
    private let encoder: JSONEncoder
    private let decoder: JSONDecoder

    /// Creates a codec.
    ///
    /// - Parameters:
    ///   - kind: Whether values become text messages, as is usual, or binary messages.
    ///   - encoder: The encoder; do not change it afterwards.
    ///   - decoder: The decoder; do not change it afterwards.
    public init(_ kind: MessageKind = .text, encoder: JSONEncoder = JSONEncoder(), decoder: JSONDecoder = JSONDecoder()) {
        (self.kind, self.encoder, self.decoder) = (kind, encoder, decoder)
    }

    /// Encodes a value as a message.
    public func encode<Value: Encodable>(_ value: Value) throws -> Message {
        let json = try encoder.encode(value)
        return kind == .text ? .text(String(decoding: json, as: UTF8.self)) : .binary([UInt8](json))
    }

    /// Decodes a payload in place, without copying it.
    public func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
        try payload.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return try decoder.decode(type, from: Data()) }
            // The decoder reads the bytes only while it runs, and its results do not refer to them.
            let lent = Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count, deallocator: .none)
            return try decoder.decode(type, from: lent)
        }
    }
}
