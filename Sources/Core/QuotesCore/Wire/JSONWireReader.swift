import CodecCore

/// Reads JSON.
struct JSONWireReader: WireReader {
    private var reader: ByteReader

    init(_ reader: ByteReader) { self.reader = reader }

    var position: Int { reader.position }

    mutating func openMap() throws(CodecError) -> WireContainer {
        try reader.expect(UInt8(ascii: "{"))
        return WireContainer()
    }

    mutating func key(of map: inout WireContainer) throws(CodecError) -> String? {
        guard try reader.hasItem(before: UInt8(ascii: "}"), isFirst: &map.isFirst) else { return nil }
        let key = try word()
        try reader.expect(UInt8(ascii: ":"))
        return key
    }

    mutating func openArray() throws(CodecError) -> WireContainer {
        try reader.expect(UInt8(ascii: "["))
        return WireContainer()
    }

    mutating func hasElement(of array: inout WireContainer) throws(CodecError) -> Bool {
        try reader.hasItem(before: UInt8(ascii: "]"), isFirst: &array.isFirst)
    }

    mutating func number() throws(CodecError) -> Int64 {
        reader.skipSpace()
        let start = position
        // A fraction or an exponent may be JSON, but is no whole number of the protocol.
        guard let number = reader.jsonInteger() else { throw CodecError(.malformed, at: start) }
        guard number.magnitude <= QuoteFigures.maximum else { throw CodecError(.overflow, at: start) }
        return number
    }

    mutating func text() throws(CodecError) -> String {
        try reader.expect(UInt8(ascii: "\""))
        return try reader.string(of: try reader.jsonText())
    }

    mutating func flag() throws(CodecError) -> Bool {
        guard let flag = try reader.jsonBool() else { throw CodecError(.malformed, at: position) }
        return flag
    }

    mutating func skip() throws(CodecError) {
        reader.skipSpace()
        try reader.skipJSON()
    }

    mutating func finish() throws(CodecError) { try reader.finishJSON() }
}
