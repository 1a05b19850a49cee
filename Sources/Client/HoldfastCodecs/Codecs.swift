public import Holdfast
public import WebSocketCore

/// A codec for MessagePack: binary, compact, and fast to encode and decode.
public struct MessagePackCodec: MessageCodec {
    /// The encoder.
    public var encoder: MessagePackEncoder
    /// The decoder.
    public var decoder: MessagePackDecoder

    /// Creates a codec whose encoder and decoder have these options.
    public init(options: CodecOptions = CodecOptions()) {
        (encoder, decoder) = (MessagePackEncoder(options: options), MessagePackDecoder(options: options))
    }

    /// `msgpack`, as in the names of subprotocols.
    public var name: String { "msgpack" }

    /// Encodes a value as a binary message.
    public func encode<Value: Encodable>(_ value: Value) throws -> Message { .binary(try encoder.encode(value)) }

    /// Decodes a payload, whatever the kind of its message.
    public func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
        try decoder.decode(type, from: payload)
    }
}

/// A codec for CBOR (RFC 8949): binary, compact, and fast to encode and decode.
public struct CBORCodec: MessageCodec {
    /// The encoder.
    public var encoder: CBOREncoder
    /// The decoder.
    public var decoder: CBORDecoder

    /// Creates a codec whose encoder and decoder have these options.
    public init(options: CodecOptions = CodecOptions()) {
        (encoder, decoder) = (CBOREncoder(options: options), CBORDecoder(options: options))
    }

    /// `cbor`, as in the names of subprotocols.
    public var name: String { "cbor" }

    /// Encodes a value as a binary message.
    public func encode<Value: Encodable>(_ value: Value) throws -> Message { .binary(try encoder.encode(value)) }

    /// Decodes a payload, whatever the kind of its message.
    public func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
        try decoder.decode(type, from: payload)
    }
}
