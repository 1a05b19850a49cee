public import CodecCore

/// A part of a message that is decoded later, when its type is known.
///
/// ```
/// struct Envelope: Codable {
///     var type: String
///     var body: LazyValue
/// }
/// ```
/// Decoders of this library only copy the bytes of the part, and check them only as far as needed to find their end. Any other decoder
/// decodes it as a ``CodecCore/Value``.
public struct LazyValue: Codable, Sendable {
    private enum Content: Sendable {
        case bytes([UInt8], BinaryFormat)
        case value(Value)
    }
    private let content: Content
    private let options: CodecOptions

    private init(content: Content, options: CodecOptions) { (self.content, self.options) = (content, options) }

    /// Creates a part from a dynamic value.
    public init(_ value: Value, options: CodecOptions = CodecOptions()) {
        self.init(content: .value(value), options: options)
    }

    /// Creates a part from an `Encodable` value, which is encoded at once.
    ///
    /// - Throws: The errors of ``ValueEncoder``.
    public init<Source: Encodable>(encoding value: Source, options: CodecOptions = CodecOptions()) throws {
        self.init(try ValueEncoder(options: options).encode(value), options: options)
    }

    /// Keeps the bytes of the part for later.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? BinaryDecoder {
            let decoding = decoder.decoding
            let bytes = try decoding.slice(from: decoder.start, decoder.level)
            self.init(content: .bytes(bytes, decoding.format), options: decoding.options)
        } else {
            self.init(try Value(from: decoder))
        }
    }

    /// Encodes the part; copies its bytes if it came in the same format.
    public func encode(to encoder: any Encoder) throws {
        if case .bytes(let bytes, let format) = content, let encoder = encoder as? BinaryEncoder, encoder.encoding.format == format {
            return bytes.withUnsafeBytes { encoder.encoding.writer.append($0) }
        }
        try value.encode(to: encoder)
    }

    /// Decodes the part as a type.
    ///
    /// - Throws: `DecodingError`, whose path begins at the part; and the errors of the type.
    public func decode<Target: Decodable>(as type: Target.Type) throws -> Target {
        switch content {
        case .bytes(let bytes, let format): try bytes.withUnsafeBytes { try BinaryDecoding.value(type, $0.bytes, format, options) }
        case .value(let value): try ValueDecoder(options: options).decode(type, from: value)
        }
    }

    /// The part as dynamic data.
    public var value: Value {
        get throws {
            switch content {
            case .bytes(let bytes, let format):
                try bytes.withUnsafeBytes { try Value(decoding: $0.bytes, as: format, limits: options.limits) }
            case .value(let value): value
            }
        }
    }
}

extension BinaryDecoding {
    /// Returns a copy of the bytes of the value at a position.
    func slice(from start: Int, _ level: Int) throws -> [UInt8] {
        reader.move(to: start)
        do {
            try reader.skipValue(format)
            readSingle(from: start)
            return [UInt8](reader.bytes(from: start, to: reader.position))
        } catch { throw corrupt(level, error) }
    }
}
