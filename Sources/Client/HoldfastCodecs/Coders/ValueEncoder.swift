public import CodecCore

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
