import CodecCore
public import Foundation

/// Reads values of Swift from CBOR.
///
/// Unknown keys are passed over. A number that does not fit its type exactly is an error, but a double is rounded to a `Float`. Where a
/// key stands twice, a type that reads its keys in the order of the bytes gets the first.
public struct CBORDecoder: Sendable {
    /// How to read, and within which limits.
    public var options: CodecOptions

    /// A decoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// The value that these bytes are, as a whole.
    ///
    /// - Throws: `DecodingError` with the path to what is wrong; behind bytes that are no CBOR stands a `CodecError` with their place. And
    ///   what the types throw.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: RawSpan) throws -> Value {
        try BinaryDecoding.value(type, bytes, .cbor, options)
    }

    /// The value that these bytes are, as a whole; throws as for a span.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try bytes.withUnsafeBytes { try decode(type, from: $0.bytes) }
    }

    /// The value that these bytes are, as a whole; throws as for a span.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: Data) throws -> Value {
        try bytes.withUnsafeBytes { try decode(type, from: $0.bytes) }
    }
}
