extension Value {
    /// Decodes a JSON text as exactly one value: RFC 8259 without extensions.
    ///
    /// A number without a point or an exponent that fits 64 bits becomes an exact integer; any other becomes the nearest double. If a key
    /// is repeated, both entries are kept.
    ///
    /// - Throws: A ``CodecError`` if the bytes are not JSON, if anything but white space follows, or if a limit is exceeded.
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

    /// Decodes a JSON text with the standard limits.
    package init(json bytes: [UInt8]) throws(CodecError) {
        self = try unsafe bytes.withUnsafeBytes { bytes -> Result<Value, CodecError> in
            do throws(CodecError) { return .success(try unsafe Value(json: bytes.bytes)) } catch { return .failure(error) }
        }.get()
    }

    /// Encodes the value as JSON, without white space.
    ///
    /// Values without a JSON form are converted in the usual way: bytes to a Base64 text, a timestamp to an RFC 3339 text, a tagged value
    /// to its value, and an integer key to its digits.
    ///
    /// - Throws: A ``CodecError`` for any other key that is not a text, for an extension, and for a number that is infinite or NaN.
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

    /// Reads an integer; returns nil without moving if something else is next.
    ///
    /// An integer of more than 18 digits becomes `Int64.max` or its negative, which is out of range for all callers.
    package mutating func jsonInteger() -> Int64? {
        skipSpace()
        let start = position
        if peek() == UInt8(ascii: "-") { position &+= 1 }
        let (digits, first) = (position, peek())
        var number: Int64 = 0
        while let byte = peek(), byte &- UInt8(ascii: "0") < 10 {
            number = number < 100_000_000_000_000_000 ? number &* 10 &+ Int64(byte &- UInt8(ascii: "0")) : .max
            position &+= 1
        }
        // RFC 8259 §6: no leading zeros.
        let isInteger = position == digits &+ 1 || position > digits && first != UInt8(ascii: "0")
        guard isInteger, peek() != UInt8(ascii: "."), peek().map({ $0 | 0x20 }) != UInt8(ascii: "e") else {
            position = start
            return nil
        }
        return digits > start ? -number : number
    }

    /// Reads a number (RFC 8259 §6).
    mutating func jsonNumber() throws(CodecError) -> JSONNumber {
        let start = position
        let isNegative = peek() == UInt8(ascii: "-")
        if isNegative { position &+= 1 }
        var digits = DecimalDigits()
        let whole = position
        try take(digits: &digits)
        if position - whole > 1, unsafe base.load(fromByteOffset: whole, as: UInt8.self) == UInt8(ascii: "0") {
            throw CodecError(.malformed, at: whole)
        }
        var isWhole = true
        if peek() == UInt8(ascii: ".") {
            position &+= 1
            let fraction = position
            try take(digits: &digits)
            (isWhole, digits.exponent) = (false, fraction - position)
        }
        if let byte = peek(), byte | 0x20 == UInt8(ascii: "e") {
            isWhole = false
            try takeExponent(into: &digits)
        }
        if isWhole, let number = digits.number {
            if !isNegative { return .unsigned(number) }
            if number <= 1 << 63 { return .negative(Int64(truncatingIfNeeded: 0 &- number)) }
        }
        if let magnitude = digits.exactDouble { return .float(isNegative ? -magnitude : magnitude) }
        let text = unsafe String(decoding: bytes(from: start, to: position), as: UTF8.self)
        guard let number = Double(text), number.isFinite else { throw CodecError(.overflow, at: start) }
        return .float(number)
    }

    /// Reads digits, at least one.
    private mutating func take(digits: inout DecimalDigits) throws(CodecError) {
        let start = position
        while let byte = peek(), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
            digits.append(byte - UInt8(ascii: "0"))
            position &+= 1
        }
        if position == start { throw unexpected }
    }

    private mutating func takeExponent(into digits: inout DecimalDigits) throws(CodecError) {
        position &+= 1
        let isNegative = peek() == UInt8(ascii: "-")
        if isNegative || peek() == UInt8(ascii: "+") { position &+= 1 }
        var exponent = DecimalDigits()
        try take(digits: &exponent)
        // Larger exponents use the slow path.
        guard let number = exponent.number, number < 10_000 else { return digits.number = nil }
        digits.exponent += isNegative ? -Int(number) : Int(number)
    }
}

/// A JSON number; exact if it is an integer that fits 64 bits.
enum JSONNumber: Equatable {
    case unsigned(UInt64)
    case negative(Int64)
    case float(Double)
}

/// The digits read so far, and the power of ten by which they are multiplied.
private struct DecimalDigits {
    /// Nil if the digits no longer fit.
    var number: UInt64? = 0
    var exponent = 0

    mutating func append(_ digit: UInt8) {
        guard let before = number else { return }
        let (product, tooLarge) = before.multipliedReportingOverflow(by: 10)
        let (sum, overflow) = product.addingReportingOverflow(UInt64(digit))
        number = tooLarge || overflow ? nil : sum
    }

    /// The number as a double if a single rounding suffices, because both factors are exact (Clinger, 1990).
    var exactDouble: Double? {
        guard let number, number <= 1 << 53, (-22...22).contains(exponent) else { return nil }
        var power = 1.0
        for _ in 0..<abs(exponent) { power *= 10 }
        return exponent < 0 ? Double(number) / power : Double(number) * power
    }
}
