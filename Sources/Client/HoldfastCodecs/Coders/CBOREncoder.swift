import CodecCore

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
