public import CodecCore

/// Which messages concern a typed stream, told by a look at one field without decoding the rest; see <doc:Streams>.
public struct MessageFilter: Hashable, Sendable {
    let path: [String]
    let value: FieldValue
    let format: PayloadPeek.Format?

    /// Those with this text in a field.
    ///
    /// - Parameters:
    ///   - path: Where the field stands: keys from the outside in.
    ///   - text: What stands there.
    ///   - format: The format of the payloads; nil: what the codec's ``MessageCodec/name`` says.
    public static func field(_ path: String..., is text: String, format: PayloadPeek.Format? = nil) -> Self {
        Self(path: path, value: .text(text), format: format)
    }

    /// Those with this whole number in a field.
    ///
    /// - Parameters:
    ///   - path: Where the field stands: keys from the outside in.
    ///   - integer: What stands there.
    ///   - format: The format of the payloads; nil: what the codec's ``MessageCodec/name`` says.
    public static func field(_ path: String..., is integer: Int, format: PayloadPeek.Format? = nil) -> Self {
        Self(path: path, value: .integer(Int64(integer)), format: format)
    }
}

/// What stands in a field, if that is something to tell messages apart by.
enum FieldValue: Hashable, Sendable {
    case text(String)
    case integer(Int64)

    init?(_ peek: PayloadPeek, in payload: RawSpan) {
        if let text = peek.string(in: payload) {
            self = .text(text)
        } else if let integer = peek.integer(in: payload) {
            self = .integer(integer)
        } else {
            return nil
        }
    }
}

extension PayloadPeek.Format {
    /// The format that is called so; nil for one that nobody here can peek into.
    init?(named name: String) {
        switch name {
        case "json": self = .json
        case "msgpack": self = .messagePack
        case "cbor": self = .cbor
        default: return nil
        }
    }
}
