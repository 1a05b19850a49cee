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
                try reader.finishJSON()
                return .success(value)
            } catch { return .failure(error) }
        }.get()
    }

    /// The value as JSON, without white space.
    ///
    /// What JSON cannot say becomes what is usual: bytes a text in Base64, a time a text of RFC 3339, a tagged value the value, an integer
    /// as a key its digits.
    ///
    /// - Throws: A ``CodecError`` of any other key that is no text, of an extension, and of a number that is infinite or none.
    public func json() throws(CodecError) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        try writer.value(self)
        return writer.finish()
    }
}

extension ByteReader {
    package mutating func jsonValue(levels: Int) throws(CodecError) -> Value {
        skipSpace()
        let start = position
        switch peek() {
        case UInt8(ascii: "\""):
            position &+= 1
            return .text(try string(of: try jsonText()))
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard levels > 0 else { throw CodecError(.tooDeep, at: start) }
            return try byte() == UInt8(ascii: "{") ? .map(try jsonMap(levels: levels - 1)) : .array(try jsonArray(levels: levels - 1))
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        default:
            if let bool = try jsonBool() { return .bool(bool) }
            switch try jsonNumber() {
            case .unsigned(let number): return Value(number)
            case .negative(let number): return .integer(number)
            case .float(let number): return .float(number)
            }
        }
    }

    private mutating func jsonArray(levels: Int) throws(CodecError) -> [Value] {
        var (items, isFirst): ([Value], Bool) = ([], true)
        while try hasItem(before: UInt8(ascii: "]"), isFirst: &isFirst) { items.append(try jsonValue(levels: levels)) }
        return items
    }

    private mutating func jsonMap(levels: Int) throws(CodecError) -> ValueMap {
        var (entries, isFirst): ([ValueMap.Entry], Bool) = ([], true)
        while try hasItem(before: UInt8(ascii: "}"), isFirst: &isFirst) {
            try expect(UInt8(ascii: "\""))
            let key = try string(of: try jsonText())
            try expect(UInt8(ascii: ":"))
            entries.append(ValueMap.Entry(key: .text(key), value: try jsonValue(levels: levels)))
        }
        return ValueMap(entries)
    }
}
