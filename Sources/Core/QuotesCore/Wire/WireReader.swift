import CodecCore

/// Reads the values that the protocol needs, one after another: maps, arrays, whole numbers, text and flags.
protocol WireReader {
    /// The position of the next value.
    var position: Int { get }

    /// Enters the next map.
    mutating func openMap() throws(CodecError) -> WireContainer
    /// Reads the next key of a map; returns nil at its end.
    mutating func key(of map: inout WireContainer) throws(CodecError) -> String?
    /// Enters the next array.
    mutating func openArray() throws(CodecError) -> WireContainer
    /// Returns whether there is another element. After the last one, the array is left.
    mutating func hasElement(of array: inout WireContainer) throws(CodecError) -> Bool
    /// Reads a whole number in the protocol's range.
    mutating func number() throws(CodecError) -> Int64
    mutating func text() throws(CodecError) -> String
    mutating func flag() throws(CodecError) -> Bool
    /// Skips the next value.
    mutating func skip() throws(CodecError)
    /// Throws if bytes follow.
    mutating func finish() throws(CodecError)
}

/// The state of a reader in a map or array.
struct WireContainer {
    /// The number of remaining elements, if the format gives the count in advance.
    var left = 0
    /// Whether nothing was read yet, if the format uses separators.
    var isFirst = true
}

extension WireReader {
    /// Reads a keyword of the protocol; returns an empty text if it is too long to be one.
    ///
    /// Swift compares texts by their canonical form, which takes quadratic time at worst.
    mutating func word() throws(CodecError) -> String {
        let text = try text()
        return text.utf8.count <= 32 ? text : ""
    }

    /// Reads the next element of an array, a number.
    mutating func number(of array: inout WireContainer) throws(CodecError) -> Int64 {
        guard try hasElement(of: &array) else { throw CodecError(.malformed, at: position) }
        return try number()
    }

    mutating func symbol(of array: inout WireContainer) throws(CodecError) -> UInt32 {
        let place = position
        guard let symbol = UInt32(exactly: try number(of: &array)) else { throw CodecError(.overflow, at: place) }
        return symbol
    }

    /// Leaves an array; throws if it has more elements.
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
        // The value is -1 - n.
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
        // JSON allows a fraction or an exponent, but the protocol requires whole numbers.
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
