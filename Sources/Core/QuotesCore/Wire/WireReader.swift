import CodecCore

/// Reads values one after another as the protocol needs them: maps, arrays, whole numbers, text and flags.
protocol WireReader {
    /// Where the next value begins.
    var position: Int { get }

    /// Goes into the map that comes next.
    mutating func openMap() throws(CodecError) -> WireContainer
    /// Takes the next key of a map; nil at its end.
    mutating func key(of map: inout WireContainer) throws(CodecError) -> String?
    /// Goes into the array that comes next.
    mutating func openArray() throws(CodecError) -> WireContainer
    /// Whether there is another element; after the last one the array is left.
    mutating func hasElement(of array: inout WireContainer) throws(CodecError) -> Bool
    /// Takes a whole number that the protocol can say.
    mutating func number() throws(CodecError) -> Int64
    mutating func text() throws(CodecError) -> String
    mutating func flag() throws(CodecError) -> Bool
    /// Goes past whatever comes next.
    mutating func skip() throws(CodecError)
    /// Makes sure that nothing follows.
    mutating func finish() throws(CodecError)
}

/// How far a reader is in a map or an array.
struct WireContainer {
    /// What is still to come, where the format says so beforehand.
    var left = 0
    /// Whether nothing was taken yet, where separators tell.
    var isFirst = true
}

extension WireReader {
    /// Takes a text that is a word of the protocol; one that is too long to be any comes back empty.
    ///
    /// Swift compares texts by their canonical form, which takes the square of their length at worst.
    mutating func word() throws(CodecError) -> String {
        let text = try text()
        return text.utf8.count <= 32 ? text : ""
    }

    /// Takes the next element of an array, a number.
    mutating func number(of array: inout WireContainer) throws(CodecError) -> Int64 {
        guard try hasElement(of: &array) else { throw CodecError(.malformed, at: position) }
        return try number()
    }

    mutating func symbol(of array: inout WireContainer) throws(CodecError) -> UInt32 {
        let place = position
        guard let symbol = UInt32(exactly: try number(of: &array)) else { throw CodecError(.overflow, at: place) }
        return symbol
    }

    /// Leaves an array of which everything was taken.
    mutating func close(_ array: inout WireContainer) throws(CodecError) {
        if try hasElement(of: &array) { throw CodecError(.malformed, at: position) }
    }
}

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
