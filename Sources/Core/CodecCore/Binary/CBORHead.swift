extension ByteReader {
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
            // Those below 32 have a form of one byte, and may have no other.
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
