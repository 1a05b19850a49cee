public import Holdfast
public import WebSocketCore

/// Messages in MessagePack: binary, short, and quick to write and to read.
public struct MessagePackCodec: MessageCodec {
    /// What writes.
    public var encoder: MessagePackEncoder
    /// What reads.
    public var decoder: MessagePackDecoder

    /// A codec whose coders have these options.
    public init(options: CodecOptions = CodecOptions()) {
        (encoder, decoder) = (MessagePackEncoder(options: options), MessagePackDecoder(options: options))
    }

    /// `msgpack`, as subprotocols have it.
    public var name: String { "msgpack" }

    /// A binary message of the value.
    public func encode<Value: Encodable>(_ value: Value) throws -> Message { .binary(try encoder.encode(value)) }

    /// The value of a payload, whatever the kind of its message.
    public func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
        try decoder.decode(type, from: payload)
    }
}

/// Messages in CBOR, RFC 8949: binary, short, and quick to write and to read.
public struct CBORCodec: MessageCodec {
    /// What writes.
    public var encoder: CBOREncoder
    /// What reads.
    public var decoder: CBORDecoder

    /// A codec whose coders have these options.
    public init(options: CodecOptions = CodecOptions()) {
        (encoder, decoder) = (CBOREncoder(options: options), CBORDecoder(options: options))
    }

    /// `cbor`, as subprotocols have it.
    public var name: String { "cbor" }

    /// A binary message of the value.
    public func encode<Value: Encodable>(_ value: Value) throws -> Message { .binary(try encoder.encode(value)) }

    /// The value of a payload, whatever the kind of its message.
    public func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
        try decoder.decode(type, from: payload)
    }
}
