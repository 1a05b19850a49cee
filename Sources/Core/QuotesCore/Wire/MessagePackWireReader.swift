import CodecCore

/// Reads MessagePack.
struct MessagePackWireReader: WireReader {
    private var reader: ByteReader

    init(_ reader: ByteReader) { self.reader = reader }

    var position: Int { reader.position }

    mutating func openMap() throws(CodecError) -> WireContainer {
        let start = position
        guard case .map(let pairs) = try reader.head(.messagePack) else { throw CodecError(.malformed, at: start) }
        return WireContainer(left: pairs)
    }

    mutating func key(of map: inout WireContainer) throws(CodecError) -> String? {
        guard map.left > 0 else { return nil }
        map.left -= 1
        return try word()
    }

    mutating func openArray() throws(CodecError) -> WireContainer {
        let start = position
        guard case .array(let count) = try reader.head(.messagePack) else { throw CodecError(.malformed, at: start) }
        return WireContainer(left: count)
    }

    mutating func hasElement(of array: inout WireContainer) throws(CodecError) -> Bool {
        guard array.left > 0 else { return false }
        array.left -= 1
        return true
    }

    mutating func number() throws(CodecError) -> Int64 {
        let start = position
        switch try reader.head(.messagePack) {
        case .unsigned(let number) where number <= UInt64(QuoteFigures.maximum): return Int64(number)
        // It is -1 - n.
        case .negative(let number) where number < UInt64(QuoteFigures.maximum): return ~Int64(number)
        case .unsigned, .negative: throw CodecError(.overflow, at: start)
        default: throw CodecError(.malformed, at: start)
        }
    }

    mutating func text() throws(CodecError) -> String {
        let start = position
        guard case .text(let length) = try reader.head(.messagePack) else { throw CodecError(.malformed, at: start) }
        guard let text = unsafe String(utf8: try reader.take(length)) else { throw CodecError(.invalidText, at: start) }
        return text
    }

    mutating func flag() throws(CodecError) -> Bool {
        let start = position
        guard case .bool(let flag) = try reader.head(.messagePack) else { throw CodecError(.malformed, at: start) }
        return flag
    }

    mutating func skip() throws(CodecError) { try reader.skipValue(.messagePack) }

    func finish() throws(CodecError) { if reader.left > 0 { throw CodecError(.trailingBytes, at: position) } }
}
