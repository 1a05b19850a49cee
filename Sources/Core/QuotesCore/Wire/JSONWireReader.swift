import CodecCore

/// Reads JSON.
struct JSONWireReader: WireReader {
    private var reader: ByteReader

    init(_ reader: ByteReader) { self.reader = reader }

    var position: Int { reader.position }

    mutating func openMap() throws(CodecError) -> WireContainer { try open(UInt8(ascii: "{")) }

    mutating func key(of map: inout WireContainer) throws(CodecError) -> String? {
        guard try hasMore(of: &map, until: UInt8(ascii: "}")) else { return nil }
        let key = try word()
        guard reader.skipSpace(to: UInt8(ascii: ":")) else { throw CodecError(.malformed, at: position) }
        return key
    }

    mutating func openArray() throws(CodecError) -> WireContainer { try open(UInt8(ascii: "[")) }

    mutating func hasElement(of array: inout WireContainer) throws(CodecError) -> Bool {
        try hasMore(of: &array, until: UInt8(ascii: "]"))
    }

    private mutating func open(_ bracket: UInt8) throws(CodecError) -> WireContainer {
        guard reader.skipSpace(to: bracket) else { throw CodecError(.malformed, at: position) }
        return WireContainer()
    }

    private mutating func hasMore(of container: inout WireContainer, until bracket: UInt8) throws(CodecError) -> Bool {
        if reader.skipSpace(to: bracket) { return false }
        guard container.isFresh || reader.skipSpace(to: UInt8(ascii: ",")) else { throw CodecError(.malformed, at: position) }
        container.isFresh = false
        return true
    }

    mutating func number() throws(CodecError) -> Int64 {
        reader.skipSpace()
        let start = position
        let isNegative = reader.peek() == UInt8(ascii: "-")
        if isNegative { reader.move(to: start + 1) }
        let (digits, first) = (position, reader.peek())
        var number: Int64 = 0
        while let byte = reader.peek(), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
            // It stays far from overflow, for beyond the range the reading ends.
            number = number &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
            guard number <= QuoteFigures.maximum else { throw CodecError(.overflow, at: start) }
            reader.move(to: position &+ 1)
        }
        let count = position - digits
        // RFC 8259 §6: no leading zeros. A fraction or an exponent may be JSON, but is no whole number of the protocol.
        guard count == 1 || count > 1 && first != UInt8(ascii: "0"), !isFraction(reader.peek()) else {
            throw CodecError(.malformed, at: start)
        }
        return isNegative ? -number : number
    }

    private func isFraction(_ byte: UInt8?) -> Bool {
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
    }

    mutating func text() throws(CodecError) -> String {
        guard reader.skipSpace(to: UInt8(ascii: "\"")) else { throw CodecError(.malformed, at: position) }
        return try reader.string(of: try reader.jsonText())
    }

    mutating func flag() throws(CodecError) -> Bool {
        reader.skipSpace()
        let start = position
        let flag = reader.peek() == UInt8(ascii: "t")
        for byte in flag ? "true".utf8 : "false".utf8 {
            guard reader.peek() == byte else { throw CodecError(.malformed, at: start) }
            reader.move(to: position + 1)
        }
        return flag
    }

    mutating func skip() throws(CodecError) {
        reader.skipSpace()
        try reader.skipJSON()
    }

    mutating func finish() throws(CodecError) {
        reader.skipSpace()
        if reader.left > 0 { throw CodecError(.trailingBytes, at: position) }
    }
}
