extension Value {
    /// The value that a text of JSON is, as a whole: RFC 8259, and nothing beyond it.
    ///
    /// A number without a point or an exponent that fits 64 bits is an integer, and exact; any other is the nearest double. Where a key
    /// stands twice, both are kept.
    ///
    /// - Throws: A ``CodecError`` if the bytes are no JSON, if anything but white space follows, or beyond the limits.
    public init(json bytes: RawSpan, limits: CodecLimits = .standard) throws(CodecError) {
        guard bytes.byteCount <= limits.maximumBytes else { throw CodecError(.tooLarge, at: limits.maximumBytes) }
        self = try unsafe bytes.withUnsafeBytes { bytes -> Result<Value, CodecError> in
            var reader = unsafe ByteReader(bytes)
            do throws(CodecError) {
                let value = try reader.jsonValue(levels: limits.maximumDepth)
                reader.skipSpace()
                guard reader.left == 0 else { throw CodecError(.trailingBytes, at: reader.position) }
                return .success(value)
            } catch { return .failure(error) }
        }.get()
    }
}

extension ByteReader {
    package mutating func jsonValue(levels: Int) throws(CodecError) -> Value {
        skipSpace()
        let start = position
        guard let first = peek() else { throw CodecError(.truncated, at: end) }
        switch first {
        case UInt8(ascii: "\""):
            position &+= 1
            return .text(try string(of: try jsonText()))
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard levels > 0 else { throw CodecError(.tooDeep, at: start) }
            position &+= 1
            return first == UInt8(ascii: "{") ? .map(try jsonMap(levels: levels - 1)) : .array(try jsonArray(levels: levels - 1))
        case UInt8(ascii: "t"):
            try expect("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            switch try jsonNumber() {
            case .unsigned(let number): return Value(number)
            case .negative(let number): return .integer(number)
            case .float(let number): return .float(number)
            }
        default: throw CodecError(.malformed, at: start)
        }
    }

    private mutating func jsonArray(levels: Int) throws(CodecError) -> [Value] {
        var items: [Value] = []
        if skipSpace(to: UInt8(ascii: "]")) { return items }
        repeat { items.append(try jsonValue(levels: levels)) } while try more(before: UInt8(ascii: "]"))
        return items
    }

    private mutating func jsonMap(levels: Int) throws(CodecError) -> ValueMap {
        var entries: [ValueMap.Entry] = []
        if skipSpace(to: UInt8(ascii: "}")) { return ValueMap() }
        repeat {
            try expectAfterSpace(UInt8(ascii: "\""))
            let key = try string(of: try jsonText())
            try expectAfterSpace(UInt8(ascii: ":"))
            entries.append(ValueMap.Entry(key: .text(key), value: try jsonValue(levels: levels)))
        } while try more(before: UInt8(ascii: "}"))
        return ValueMap(entries)
    }

    /// Takes a comma, or the bracket that closes; true after a comma.
    mutating func more(before bracket: UInt8) throws(CodecError) -> Bool {
        if skipSpace(to: UInt8(ascii: ",")) { return true }
        try expectAfterSpace(bracket)
        return false
    }

    mutating func expectAfterSpace(_ byte: UInt8) throws(CodecError) {
        guard skipSpace(to: byte) else { throw CodecError(left == 0 ? .truncated : .malformed, at: position) }
    }

    private mutating func expect(_ word: StaticString) throws(CodecError) {
        for byte in word.description.utf8 {
            let place = position
            guard try self.byte() == byte else { throw CodecError(.malformed, at: place) }
        }
    }
}
