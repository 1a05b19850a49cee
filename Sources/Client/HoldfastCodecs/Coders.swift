public import CodecCore
public import Foundation

/// Encodes `Encodable` values as MessagePack, each in its shortest form.
///
/// Structures, classes and keyed dictionaries become maps, with the keys in the order in which they are encoded. `Data` becomes bytes,
/// `Date` becomes what ``options`` say, `URL` and `Decimal` become texts; all other types are encoded by their own `Codable` code.
/// If a type encodes a key twice, the map contains it twice.
public struct MessagePackEncoder: Sendable {
    /// The encoding options.
    public var options: CodecOptions

    /// Creates an encoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// Returns the bytes of a value.
    ///
    /// - Throws: `EncodingError` with the path to what cannot be encoded, such as values that are nested too deep; and the errors of the types.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        try BinaryEncoding.bytes(of: value, .messagePack, options)
    }
}

/// Decodes `Decodable` values from MessagePack.
///
/// Unknown keys are skipped. A number that does not fit its type exactly is an error, but a double is rounded to a `Float`. If a
/// key occurs twice, a type that decodes its keys in the order of the bytes gets the first value.
public struct MessagePackDecoder: Sendable {
    /// The decoding options and limits.
    public var options: CodecOptions

    /// Creates a decoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// Returns the value that all of these bytes encode.
    ///
    /// - Throws: `DecodingError` with the path to what is wrong; if the bytes are not MessagePack, its underlying error is a `CodecError`
    ///   with the position. Also the errors of the types.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: RawSpan) throws -> Value {
        try BinaryDecoding.value(type, bytes, .messagePack, options)
    }

    /// Returns the value that all of these bytes encode; throws as for a span.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try bytes.withUnsafeBytes { try decode(type, from: $0.bytes) }
    }

    /// Returns the value that all of these bytes encode; throws as for a span.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: Data) throws -> Value {
        try bytes.withUnsafeBytes { try decode(type, from: $0.bytes) }
    }
}

/// Encodes `Encodable` values as CBOR, each in its shortest form.
///
/// Structures, classes and keyed dictionaries become maps, with the keys in the order in which they are encoded. `Data` becomes bytes,
/// `Date` becomes what ``options`` say, `URL` and `Decimal` become texts; all other types are encoded by their own `Codable` code.
/// If a type encodes a key twice, the map contains it twice.
public struct CBOREncoder: Sendable {
    /// The encoding options.
    public var options: CodecOptions

    /// Creates an encoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// Returns the bytes of a value.
    ///
    /// - Throws: `EncodingError` with the path to what cannot be encoded, such as values that are nested too deep; and the errors of the types.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        try BinaryEncoding.bytes(of: value, .cbor, options)
    }
}

/// Decodes `Decodable` values from CBOR.
///
/// Unknown keys are skipped. A number that does not fit its type exactly is an error, but a double is rounded to a `Float`. If a
/// key occurs twice, a type that decodes its keys in the order of the bytes gets the first value.
public struct CBORDecoder: Sendable {
    /// The decoding options and limits.
    public var options: CodecOptions

    /// Creates a decoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// Returns the value that all of these bytes encode.
    ///
    /// - Throws: `DecodingError` with the path to what is wrong; if the bytes are not CBOR, its underlying error is a `CodecError` with
    ///   the position. Also the errors of the types.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: RawSpan) throws -> Value {
        try BinaryDecoding.value(type, bytes, .cbor, options)
    }

    /// Returns the value that all of these bytes encode; throws as for a span.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try bytes.withUnsafeBytes { try decode(type, from: $0.bytes) }
    }

    /// Returns the value that all of these bytes encode; throws as for a span.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: Data) throws -> Value {
        try bytes.withUnsafeBytes { try decode(type, from: $0.bytes) }
    }
}

/// The options of ``MessagePackEncoder`` and the other coders.
public struct CodecOptions: Sendable {
    /// The form in which a `Date` is encoded; decoders accept all forms.
    public enum DateForm: Hashable, Sendable {
        /// The format's own form.
        ///
        /// In MessagePack the timestamp, exact to the nanosecond; in CBOR seconds since 1970 with the tag 1, where fractions of a second are
        /// a double, exact to a quarter of a microsecond.
        case native
        /// Seconds since 1970 as a floating-point number.
        case seconds
        /// A text in the format of RFC 3339, in UTC.
        case iso8601
    }

    /// The form in which a `Date` is encoded.
    public var dates: DateForm
    /// Whether a key with an integer value is encoded as the integer, as is usual in CBOR; decoders accept both.
    public var integerKeys: Bool
    /// Whether a decoder accepts Base64 text for bytes, for data that has passed through JSON.
    public var readsBase64 = false
    /// Whether `[UInt8]` is a byte string, as `Data` is; otherwise it is an array of numbers, which a decoder accepts in both cases.
    package var byteArrays = false
    /// The limits for decoding bytes of a peer; also for the depth and size of encoded values.
    public var limits: CodecLimits
    /// The contents of `Encoder.userInfo` and `Decoder.userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    /// Creates options; by default native dates, text keys and the standard limits.
    public init(
        dates: DateForm = .native, integerKeys: Bool = false, limits: CodecLimits = .standard,
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) {
        (self.dates, self.integerKeys, self.limits, self.userInfo) = (dates, integerKeys, limits, userInfo)
    }
}

/// Encodes `Encodable` values as a `Value`.
public struct ValueEncoder: Sendable {
    /// The encoding options.
    public var options: CodecOptions

    /// Creates an encoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// Returns the value as dynamic data; throws as ``MessagePackEncoder/encode(_:)`` does.
    public func encode<Source: Encodable>(_ value: Source) throws -> Value {
        let bytes = try BinaryEncoding.bytes(of: value, .exchange, options)
        return try bytes.withUnsafeBytes { try Value(decoding: $0.bytes, as: .exchange, limits: options.limits) }
    }
}

/// Decodes `Decodable` values from a `Value`.
public struct ValueDecoder: Sendable {
    /// The decoding options and limits.
    public var options: CodecOptions

    /// Creates a decoder with these options.
    public init(options: CodecOptions = CodecOptions()) { self.options = options }

    /// Returns the typed value for dynamic data; throws as ``MessagePackDecoder`` does.
    public func decode<Target: Decodable>(_ type: Target.Type, from value: Value) throws -> Target {
        let bytes = try value.encoded(as: .exchange)
        return try bytes.withUnsafeBytes { try BinaryDecoding.value(type, $0.bytes, .exchange, options) }
    }

    /// Returns the typed value that a JSON text encodes, without creating a `Value`; throws as ``MessagePackDecoder`` does.
    ///
    /// A `Date` is a text in the format of RFC 3339, or a number of seconds since 1970. Bytes are Base64 if
    /// ``CodecOptions/readsBase64`` says so. A `Decimal` with a fraction is as exact as a `Double`.
    public func decode<Target: Decodable>(_ type: Target.Type, json: RawSpan) throws -> Target {
        let bytes = try json.withUnsafeBytes { json in
            do throws(CodecError) {
                guard json.count <= options.limits.maximumBytes else { throw CodecError(.tooLarge, at: options.limits.maximumBytes) }
                var reader = ByteReader(json)
                var writer = ByteWriter(capacity: json.count)
                try writer.value(ofJSON: &reader, .exchange, levels: options.limits.maximumDepth)
                try reader.finishJSON()
                return writer.array()
            } catch {
                throw DecodingError.dataCorrupted(
                    DecodingError.Context(codingPath: [], debugDescription: "the text is not JSON", underlyingError: error))
            }
        }
        return try bytes.withUnsafeBytes { try BinaryDecoding.value(type, $0.bytes, .exchange, options) }
    }

    /// Returns the typed value that a JSON text encodes; throws as for a span.
    public func decode<Target: Decodable>(_ type: Target.Type, json: [UInt8]) throws -> Target {
        try json.withUnsafeBytes { try decode(type, json: $0.bytes) }
    }
}

/// A step of a coding path: a map key or an array index.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
    init(intValue: Int) { (stringValue, self.intValue) = (String(intValue), intValue) }
    init(index: Int) { (stringValue, intValue) = ("Index \(index)", index) }

    static let `super` = PathKey(stringValue: "super")
}
