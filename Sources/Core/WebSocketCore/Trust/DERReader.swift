/// Walks over values in DER (X.690), one after the other; ends where they are malformed.
struct DERReader {
    /// One value.
    struct Value {
        let tag: UInt8
        /// The bytes after tag and length.
        let content: ArraySlice<UInt8>
        /// With tag and length.
        let whole: ArraySlice<UInt8>

        /// The values inside.
        var inside: DERReader { DERReader(content) }
    }

    static let (boolean, integer, octets, objectID): (UInt8, UInt8, UInt8, UInt8) = (0x01, 0x02, 0x04, 0x06)
    static let bitString: UInt8 = 0x03
    static let (sequence, set): (UInt8, UInt8) = (0x30, 0x31)
    static let (utcTime, generalizedTime): (UInt8, UInt8) = (0x17, 0x18)

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The tag of the next value.
    var tag: UInt8? { rest.first }

    /// The next value; nil at the end, or if it is malformed.
    mutating func next() -> Value? {
        guard let tag = rest.first, tag & 0x1F != 0x1F, let first = rest.dropFirst().first else { return nil }
        var (length, header) = (Int(first), 2)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard 1...4 ~= count, rest.count >= 2 + count else { return nil }
            length = rest.dropFirst(2).prefix(count).reduce(0) { $0 << 8 | Int($1) }
            header += count
        }
        guard rest.count - header >= length else { return nil }
        let whole = rest.prefix(header + length)
        rest = rest.dropFirst(header + length)
        return Value(tag: tag, content: whole.dropFirst(header), whole: whole)
    }

    /// The next value, if it has this tag.
    mutating func next(_ tag: UInt8) -> Value? { self.tag == tag ? next() : nil }
}
