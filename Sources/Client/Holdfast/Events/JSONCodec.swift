public import Foundation
public import WebSocketCore

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
