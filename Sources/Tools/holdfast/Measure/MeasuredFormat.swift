import CodecCore

/// A format that messages are measured in.
enum MeasuredFormat: String, CaseIterable, Sendable {
    case json = "JSON"
    case messagePack = "MessagePack"
    case cbor = "CBOR"

    /// The bytes of a value that came out of JSON, which every format can say.
    func encode(_ value: Value) throws(CodecError) -> [UInt8] {
        switch self {
        case .json: try value.json()
        case .messagePack: try value.encoded(as: .messagePack)
        case .cbor: try value.encoded(as: .cbor)
        }
    }

    /// The value that bytes of ``encode(_:)`` stand for.
    func decode(_ bytes: [UInt8]) throws -> Value {
        let limits = CodecLimits(maximumBytes: .max)
        return try bytes.withUnsafeBytes { bytes in
            switch self {
            case .json: try Value(json: bytes.bytes, limits: limits)
            case .messagePack: try Value(decoding: bytes.bytes, as: .messagePack, limits: limits)
            case .cbor: try Value(decoding: bytes.bytes, as: .cbor, limits: limits)
            }
        }
    }
}
