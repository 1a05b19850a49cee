public import Foundation
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
    func encode<Value: Encodable>(_ value: Value) throws(WebSocketError) -> Message {
        do { return try codec.encode(value) } catch {
            throw WebSocketError(TransportError(.codec, "a \(Value.self) could not be encoded", underlying: error))
        }
    }

    /// What a closure makes that composes a request: text and bytes go as they are, any other value through the codec.
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
            throw WebSocketError(TransportError(.codec, "an answer is no \(type)", underlying: error))
        }
    }
}

/// Values as JSON, through Foundation's `JSONEncoder` and `JSONDecoder`.
///
/// Text and binary messages are read alike.
public struct JSONCodec: MessageCodec {
    /// `json`.
    public var name: String { "json" }
    private let kind: MessageKind
    private let encoder: JSONEncoder
    private let decoder: JSONDecoder

    /// A codec.
    ///
    /// - Parameters:
    ///   - kind: Whether values become text, as is usual, or binary messages.
    ///   - encoder: Makes the JSON; not to be changed afterwards.
    ///   - decoder: Reads the JSON; not to be changed afterwards.
    public init(_ kind: MessageKind = .text, encoder: JSONEncoder = JSONEncoder(), decoder: JSONDecoder = JSONDecoder()) {
        (self.kind, self.encoder, self.decoder) = (kind, encoder, decoder)
    }

    /// Makes the message that stands for a value.
    public func encode<Value: Encodable>(_ value: Value) throws -> Message {
        let json = try encoder.encode(value)
        return kind == .text ? .text(String(decoding: json, as: UTF8.self)) : .binary([UInt8](json))
    }

    /// Makes the value that a payload stands for, where it lies: nothing is copied.
    public func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
        try payload.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return try decoder.decode(type, from: Data()) }
            // The decoder reads the bytes only while it runs, and nothing it makes refers to them.
            let lent = Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count, deallocator: .none)
            return try decoder.decode(type, from: lent)
        }
    }
}
