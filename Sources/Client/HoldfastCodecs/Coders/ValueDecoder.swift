public import CodecCore

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
