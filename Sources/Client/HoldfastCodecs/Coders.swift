public import CodecCore
public import Foundation

/// Writes values of Swift as MessagePack, each in its shortest form.
///
/// Structures, classes and dictionaries with keys become maps, in the order in which they write their keys. `Data` becomes bytes, `Date`
/// as ``options`` say, `URL` and `Decimal` texts; everything else does what its `Codable` says. A key that a type writes twice
/// stands there twice.
public struct MessagePackEncoder: Sendable {
    /// How to write what may be written in more than one way.
    public var options: CodecOptions

    /// An encoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// The bytes of a value.
    ///
    /// - Throws: `EncodingError` with the path to what cannot be written, such as values too deep in one another; and what the types throw.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        try BinaryEncoding.bytes(of: value, .messagePack, options)
    }
}

/// Reads values of Swift from MessagePack.
///
/// Unknown keys are passed over. A number that does not fit its type exactly is an error, but a double is rounded to a `Float`. Where a
/// key stands twice, a type that reads its keys in the order of the bytes gets the first.
public struct MessagePackDecoder: Sendable {
    /// How to read, and within which limits.
    public var options: CodecOptions

    /// A decoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// The value that these bytes are, as a whole.
    ///
    /// - Throws: `DecodingError` with the path to what is wrong; behind bytes that are no MessagePack stands a `CodecError` with their
    ///   place. And what the types throw.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: RawSpan) throws -> Value {
        try BinaryDecoding.value(type, bytes, .messagePack, options)
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

/// Writes values of Swift as CBOR, each in its shortest form.
///
/// Structures, classes and dictionaries with keys become maps, in the order in which they write their keys. `Data` becomes bytes, `Date`
/// as ``options`` say, `URL` and `Decimal` texts; everything else does what its `Codable` says. A key that a type writes twice
/// stands there twice.
public struct CBOREncoder: Sendable {
    /// How to write what may be written in more than one way.
    public var options: CodecOptions

    /// An encoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// The bytes of a value.
    ///
    /// - Throws: `EncodingError` with the path to what cannot be written, such as values too deep in one another; and what the types throw.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        try BinaryEncoding.bytes(of: value, .cbor, options)
    }
}

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

/// How the coders of ``MessagePackEncoder`` and its kin write and read what may be written in more than one way.
public struct CodecOptions: Sendable {
    /// How a `Date` is written; all forms are read, whatever is chosen here.
    public enum DateForm: Hashable, Sendable {
        /// As the format does it: MessagePack's timestamp, exact to the nanosecond; in CBOR seconds since 1970 under the tag 1, where a
        /// part of a second is a double, exact to a quarter of a microsecond.
        case native
        /// Seconds since 1970 as a floating-point number.
        case seconds
        /// A text of RFC 3339 in UTC.
        case iso8601
    }

    /// How a `Date` is written.
    public var dates: DateForm
    /// Whether a key that has an integer is written as that, as is usual in CBOR; both are always read.
    public var integerKeys: Bool
    /// Whether a text of Base64 is read where bytes are wanted; for what has passed through JSON.
    public var readsBase64 = false
    /// What bytes of a peer may ask of a decoder; also, how deep and how long what is written may become.
    public var limits: CodecLimits
    /// What types find in `Encoder.userInfo` and `Decoder.userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    /// Options; native dates, keys as texts and the standard limits unless told otherwise.
    public init(
        dates: DateForm = .native, integerKeys: Bool = false, limits: CodecLimits = .standard,
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) {
        (self.dates, self.integerKeys, self.limits, self.userInfo) = (dates, integerKeys, limits, userInfo)
    }
}

/// Makes a `Value` of any value of Swift that is `Encodable`.
public struct ValueEncoder: Sendable {
    /// How to write what may be written in more than one way.
    public var options: CodecOptions

    /// An encoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// The value as data of no fixed shape; throws as ``MessagePackEncoder/encode(_:)`` does.
    public func encode<Source: Encodable>(_ value: Source) throws -> Value {
        let bytes = try BinaryEncoding.bytes(of: value, .exchange, options)
        return try bytes.withUnsafeBytes { try Value(decoding: $0.bytes, as: .exchange, limits: options.limits) }
    }
}

/// Makes values of Swift that are `Decodable` of a `Value`.
public struct ValueDecoder: Sendable {
    /// How to read, and within which limits.
    public var options: CodecOptions

    /// A decoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// The value that this data is; throws as ``MessagePackDecoder`` does.
    public func decode<Target: Decodable>(_ type: Target.Type, from value: Value) throws -> Target {
        let bytes = try value.encoded(as: .exchange)
        return try bytes.withUnsafeBytes { try BinaryDecoding.value(type, $0.bytes, .exchange, options) }
    }
}

/// A step of a coding path: a key of a map, or a place in an array.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
    init(intValue: Int) { (stringValue, self.intValue) = (String(intValue), intValue) }
    init(index: Int) { (stringValue, intValue) = ("Index \(index)", index) }

    static let `super` = PathKey(stringValue: "super")
}
