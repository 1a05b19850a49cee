/// What the first bytes of a value say: a scalar as a whole, of all else the kind and the length.
///
/// A length was compared with the bytes that are left: so many bytes, or values of one byte each, can follow.
public enum BinaryHead: Hashable, Sendable {
    /// Nothing; CBOR's undefined too.
    case null
    /// True or false.
    case bool(Bool)
    /// An integer from 0 up.
    case unsigned(UInt64)
    /// The integer -1 - n.
    case negative(UInt64)
    /// A floating-point number of any width.
    case float(Double)
    /// A text of so many bytes.
    case text(Int)
    /// So many bytes.
    case bytes(Int)
    /// So many values.
    case array(Int)
    /// So many keys, each with its value.
    case map(Int)
    /// MessagePack: so many bytes of an application's type.
    case `extension`(type: Int8, Int)
    /// CBOR: a number that says how to understand the value that follows.
    case tag(UInt64)
    /// CBOR: a text in pieces, until a stop.
    case openText
    /// CBOR: bytes in pieces, until a stop.
    case openBytes
    /// CBOR: values until a stop.
    case openArray
    /// CBOR: keys with values until a stop.
    case openMap
    /// CBOR: the end of what was open.
    case stop
    /// CBOR: a simple value without a meaning here.
    case simple(UInt8)
}

extension ByteReader {
    /// Takes the head of the next value.
    @inlinable public mutating func head(_ format: BinaryFormat) throws(CodecError) -> BinaryHead {
        format.isCBOR ? try cborHead() : try messagePackHead(tags: format.hasTags)
    }

    /// Compares a length with the bytes that are left, of which every item needs at least this many.
    @inlinable func checked<Number: FixedWidthInteger>(_ count: Number, width: Int = 1) throws(CodecError) -> Int {
        guard let length = Int(exactly: count), length <= left / width else { throw CodecError(.truncated, at: end) }
        return length
    }
}
