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
