import CodecCore

/// Reads the encodings of lib0, on which the formats of Yjs are built, from a part of a byte array.
///
/// Every number is checked before memory is reserved for it.
struct Lib0Reader {
    let bytes: [UInt8]
    private(set) var position: Int
    let end: Int

    init(_ bytes: [UInt8]) { (self.bytes, position, end) = (bytes, 0, bytes.count) }

    private init(_ bytes: [UInt8], _ range: Range<Int>) { (self.bytes, position, end) = (bytes, range.lowerBound, range.upperBound) }

    var isAtEnd: Bool { position >= end }
    var left: Int { end - position }

    func failure(_ code: DocumentError.Code) -> DocumentError { DocumentError(code, at: position) }

    mutating func byte() throws(DocumentError) -> UInt8 {
        guard position < end else { throw failure(.truncated) }
        defer { position &+= 1 }
        return bytes[position]
    }

    /// A `varUint`: 7 bits a byte, at most 2^53 − 1.
    mutating func uint() throws(DocumentError) -> UInt64 {
        let first = try byte()
        if first < 0x80 { return UInt64(first) }
        var (value, shift) = (UInt64(first & 0x7F), 7)
        while true {
            let next = try byte()
            if shift < 64 { value |= UInt64(next & 0x7F) << UInt64(shift) }
            shift += 7
            guard value < 1 << 53, shift <= 70 else { throw failure(.malformed) }
            if next < 0x80 { return value }
        }
    }

    /// A `varInt`: the sign stands apart, so −0 differs from 0.
    mutating func int() throws(DocumentError) -> (magnitude: Int64, isNegative: Bool) {
        let first = try byte()
        var (value, shift, next) = (UInt64(first & 0x3F), 6, first)
        while next & 0x80 != 0 {
            next = try byte()
            if shift < 64 { value |= UInt64(next & 0x7F) << UInt64(shift) }
            shift += 7
            guard value < 1 << 53, shift <= 69 else { throw failure(.malformed) }
        }
        return (Int64(value), first & 0x40 != 0)
    }

    /// A number of things of which each takes at least one byte that has yet to come.
    mutating func count() throws(DocumentError) -> Int {
        let number = try uint()
        guard number <= UInt64(left) else { throw failure(.truncated) }
        return Int(number)
    }

    /// A clock or a length: at most `Int32.max`.
    mutating func clock() throws(DocumentError) -> Int32 {
        guard let clock = Int32(exactly: try uint()) else { throw failure(.tooLarge) }
        return clock
    }

    /// Takes the next bytes as a reader of their own, and moves on.
    mutating func part(_ count: Int) throws(DocumentError) -> Lib0Reader {
        guard count <= left else { throw failure(.truncated) }
        defer { position += count }
        return Lib0Reader(bytes, position..<position + count)
    }

    /// A byte string with its length before it, as a reader of its own.
    mutating func part() throws(DocumentError) -> Lib0Reader { try part(try count()) }

    mutating func byteString() throws(DocumentError) -> [UInt8] {
        let part = try part()
        return Array(bytes[part.position..<part.end])
    }

    mutating func string() throws(DocumentError) -> String {
        try part().text()
    }

    /// All that is left, as UTF-8.
    private func text() throws(DocumentError) -> String {
        let text = unsafe bytes[position..<end].withUnsafeBytes { unsafe String(utf8: $0) }
        guard let text else { throw failure(.invalidText) }
        return text
    }

    /// A string as UTF-16 units, appended to `units`.
    ///
    /// Returns the number of units.
    mutating func units(into units: inout ContiguousArray<UInt16>) throws(DocumentError) -> Int {
        let part = try part()
        let utf8 = bytes[part.position..<part.end], before = units.count
        if utf8.allSatisfy({ $0 < 0x80 }) {
            for byte in utf8 { units.append(UInt16(byte)) }
        } else {
            units.append(contentsOf: try part.text().utf16)
        }
        return units.count - before
    }

    private mutating func integer<Number: FixedWidthInteger>(_: Number.Type) throws(DocumentError) -> Number {
        var number: Number = 0
        for _ in 0..<MemoryLayout<Number>.size { number = number << 8 | Number(truncatingIfNeeded: try byte()) }
        return number
    }

    /// An `any`: a byte for the kind, and the value.
    mutating func any(levels: Int = 100) throws(DocumentError) -> DocumentValue {
        switch try byte() {
        case 127: return .undefined
        case 126: return .null
        case 125:
            let (magnitude, isNegative) = try int()
            return .number(isNegative ? -Double(magnitude) : Double(magnitude))
        case 124: return number(Double(Float(bitPattern: try integer(UInt32.self))))
        case 123: return number(Double(bitPattern: try integer(UInt64.self)))
        case 122: return .bigInteger(try integer(Int64.self))
        case 121: return .bool(false)
        case 120: return .bool(true)
        case 119: return .text(try string())
        case 118:
            guard levels > 0 else { throw failure(.tooDeep) }
            var entries: [DocumentValue.Entry] = []
            for _ in 0..<(try count()) { entries.append(.init(try string(), try any(levels: levels - 1))) }
            return .object(entries)
        case 117:
            guard levels > 0 else { throw failure(.tooDeep) }
            var items: [DocumentValue] = []
            for _ in 0..<(try count()) { items.append(try any(levels: levels - 1)) }
            return .array(items)
        case 116: return .bytes(try byteString())
        default:
            position -= 1
            throw failure(.malformed)
        }
    }

    /// A number.
    ///
    /// JavaScript has one NaN only.
    private func number(_ number: Double) -> DocumentValue { .number(number.isNaN ? .nan : number) }

    /// A string that contains JSON.
    mutating func json() throws(DocumentError) -> DocumentValue {
        let start = position
        guard let value = DocumentValue(json: try byteString()) else { throw DocumentError(.invalidJSON, at: start) }
        return value
    }
}
