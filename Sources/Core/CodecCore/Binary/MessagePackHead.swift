extension ByteReader {
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
}
