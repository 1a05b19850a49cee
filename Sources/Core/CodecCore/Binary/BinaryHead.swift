/// The head of an encoded value: a complete scalar, or the kind and length of any other value.
///
/// Lengths are already checked against the remaining bytes: at least that many bytes, or values of one byte each, can follow.
public enum BinaryHead: Hashable, Sendable {
    /// Null, or CBOR's undefined.
    case null
    /// True or false.
    case bool(Bool)
    /// An integer of at least 0.
    case unsigned(UInt64)
    /// The integer -1 - n.
    case negative(UInt64)
    /// A floating-point number of any width.
    case float(Double)
    /// A text of this many bytes.
    case text(Int)
    /// A byte string of this length.
    case bytes(Int)
    /// An array of this many values.
    case array(Int)
    /// A map of this many pairs of key and value.
    case map(Int)
    /// MessagePack: an extension of this type and length in bytes.
    case `extension`(type: Int8, Int)
    /// CBOR: a tag that says how to interpret the following value.
    case tag(UInt64)
    /// CBOR: a text in pieces, until a stop. "Open" means of indefinite length.
    case openText
    /// CBOR: a byte string in pieces, until a stop.
    case openBytes
    /// CBOR: an array of values until a stop.
    case openArray
    /// CBOR: a map of pairs until a stop.
    case openMap
    /// CBOR: the end of an open item.
    case stop
    /// CBOR: a simple value that this library does not support.
    case simple(UInt8)
}

extension ByteReader {
    /// Reads the head of the next value.
    @inlinable public mutating func head(_ format: BinaryFormat) throws(CodecError) -> BinaryHead {
        format.isCBOR ? try cborHead() : try messagePackHead(tags: format.hasTags)
    }

    /// Checks a length against the remaining bytes; every item needs at least `width` bytes.
    @inlinable func checked<Number: FixedWidthInteger>(_ count: Number, width: Int = 1) throws(CodecError) -> Int {
        guard let length = Int(exactly: count), length <= left / width else { throw CodecError(.truncated, at: end) }
        return length
    }

    // The MessagePack specification, "Formats".
    @inlinable mutating func messagePackHead(tags: Bool) throws(CodecError) -> BinaryHead {
        let start = position
        let first = try byte()
        switch first {
        case 0x00...0x7F: return .unsigned(UInt64(first))
        case 0x80...0x8F: return .map(try checked(first & 0x0F, width: 2))
        case 0x90...0x9F: return .array(try checked(first & 0x0F))
        case 0xA0...0xBF: return .text(try checked(first & 0x1F))
        case 0xC0: return .null
        case 0xC1:
            guard tags else { throw CodecError(.malformed, at: start) }
            return .tag(try integer())
        case 0xC2: return .bool(false)
        case 0xC3: return .bool(true)
        case 0xC4: return .bytes(try checked(integer(UInt8.self)))
        case 0xC5: return .bytes(try checked(integer(UInt16.self)))
        case 0xC6: return .bytes(try checked(integer(UInt32.self)))
        case 0xC7: return try messagePackExtension(integer(UInt8.self))
        case 0xC8: return try messagePackExtension(integer(UInt16.self))
        case 0xC9: return try messagePackExtension(integer(UInt32.self))
        case 0xCA: return .float(Double(Float(bitPattern: try integer())))
        case 0xCB: return .float(Double(bitPattern: try integer()))
        case 0xCC: return .unsigned(UInt64(try integer(UInt8.self)))
        case 0xCD: return .unsigned(UInt64(try integer(UInt16.self)))
        case 0xCE: return .unsigned(UInt64(try integer(UInt32.self)))
        case 0xCF: return .unsigned(try integer())
        case 0xD0: return Self.signed(Int64(try integer(Int8.self)))
        case 0xD1: return Self.signed(Int64(try integer(Int16.self)))
        case 0xD2: return Self.signed(Int64(try integer(Int32.self)))
        case 0xD3: return Self.signed(try integer())
        case 0xD4...0xD8: return try messagePackExtension(UInt8(1) << (first - 0xD4))
        case 0xD9: return .text(try checked(integer(UInt8.self)))
        case 0xDA: return .text(try checked(integer(UInt16.self)))
        case 0xDB: return .text(try checked(integer(UInt32.self)))
        case 0xDC: return .array(try checked(integer(UInt16.self)))
        case 0xDD: return .array(try checked(integer(UInt32.self)))
        case 0xDE: return .map(try checked(integer(UInt16.self), width: 2))
        case 0xDF: return .map(try checked(integer(UInt32.self), width: 2))
        default: return .negative(UInt64(0xFF - first))
        }
    }

    @inlinable static func signed(_ number: Int64) -> BinaryHead {
        number < 0 ? .negative(UInt64(bitPattern: ~number)) : .unsigned(UInt64(number))
    }

    @inlinable mutating func messagePackExtension<Number: FixedWidthInteger>(_ count: Number) throws(CodecError) -> BinaryHead {
        let type = try integer(Int8.self)
        return .extension(type: type, try checked(count))
    }

    // RFC 8949 §3: three bits of major type, five of additional information.
    @inlinable mutating func cborHead() throws(CodecError) -> BinaryHead {
        let start = position
        let first = try byte()
        let (major, information) = (first >> 5, first & 0x1F)
        if major == 7 { return try cborSimple(information, at: start) }
        if information == 31 {
            switch major {
            case 2: return .openBytes
            case 3: return .openText
            case 4: return .openArray
            case 5: return .openMap
            default: throw CodecError(.malformed, at: start)
            }
        }
        let argument: UInt64
        switch information {
        case 0...23: argument = UInt64(information)
        case 24: argument = UInt64(try integer(UInt8.self))
        case 25: argument = UInt64(try integer(UInt16.self))
        case 26: argument = UInt64(try integer(UInt32.self))
        case 27: argument = try integer()
        default: throw CodecError(.malformed, at: start)
        }
        switch major {
        case 0: return .unsigned(argument)
        case 1: return .negative(argument)
        case 2: return .bytes(try checked(argument))
        case 3: return .text(try checked(argument))
        case 4: return .array(try checked(argument))
        case 5: return .map(try checked(argument, width: 2))
        default: return .tag(argument)
        }
    }

    // RFC 8949 §3.3
    @inlinable mutating func cborSimple(_ information: UInt8, at start: Int) throws(CodecError) -> BinaryHead {
        switch information {
        case 20: return .bool(false)
        case 21: return .bool(true)
        case 22, 23: return .null
        case 24:
            let number = try byte()
            // Values below 32 have a one-byte form and must use it.
            guard number >= 32 else { throw CodecError(.malformed, at: start) }
            return .simple(number)
        case 25: return .float(Double(halfBits: try integer()))
        case 26: return .float(Double(Float(bitPattern: try integer())))
        case 27: return .float(Double(bitPattern: try integer()))
        case 31: return .stop
        case 0...19: return .simple(information)
        default: throw CodecError(.malformed, at: start)
        }
    }
}

/// A self-describing binary format: MessagePack or CBOR.
///
/// It is a value instead of a generic parameter: the containers of `Codable` are called through witness tables, where generics are not
/// specialized. Checking a flag is cheaper.
public struct BinaryFormat: Hashable, Sendable {
    @usableFromInline let isCBOR: Bool
    /// Whether MessagePack may contain tags, which the format does not have: for data that never leaves the process.
    @usableFromInline let hasTags: Bool

    /// MessagePack, with its timestamps.
    public static let messagePack = BinaryFormat(isCBOR: false, hasTags: false)
    /// CBOR, RFC 8949.
    public static let cbor = BinaryFormat(isCBOR: true, hasTags: true)
    /// MessagePack with tags after its unused byte 0xC1: represents every ``Value`` exactly.
    package static let exchange = BinaryFormat(isCBOR: false, hasTags: true)
}

// Implemented by hand, because macOS on Intel has no Float16.
extension Double {
    /// Creates the number from the bits of a half-precision float.
    @usableFromInline init(halfBits bits: UInt16) {
        let (exponent, fraction) = (Int(bits >> 10 & 0x1F), Double(bits & 0x3FF))
        let magnitude: Double
        switch exponent {
        case 0: magnitude = fraction * 0x1p-24
        case 31: magnitude = fraction == 0 ? .infinity : .nan
        default: magnitude = Double(sign: .plus, exponent: exponent - 25, significand: 1024 + fraction)
        }
        self = bits & 0x8000 == 0 ? magnitude : -magnitude
    }

    /// The bits of the half-precision float with exactly this value; nil if there is none.
    ///
    /// Every NaN becomes the standard one.
    @usableFromInline var halfBits: UInt16? {
        if isNaN { return 0x7E00 }
        let sign: UInt16 = self.sign == .minus ? 0x8000 : 0
        let magnitude = magnitude
        if magnitude == 0 { return sign }
        if magnitude == .infinity { return sign | 0x7C00 }
        guard magnitude <= 65504 else { return nil }
        if magnitude < 0x1p-14 {
            let fraction = magnitude * 0x1p24
            guard fraction == fraction.rounded(.towardZero), fraction >= 1 else { return nil }
            return sign | UInt16(fraction)
        }
        let fraction = (magnitude.significand - 1) * 1024
        guard fraction == fraction.rounded(.towardZero) else { return nil }
        return sign | UInt16(magnitude.exponent + 15) << 10 | UInt16(fraction)
    }
}
