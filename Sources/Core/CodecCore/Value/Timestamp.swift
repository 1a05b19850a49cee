/// A point in time: seconds since the start of 1970 in UTC, without leap seconds, and nanoseconds after them.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Whole seconds; before 1970, negative.
    public let seconds: Int64
    /// What comes on top: 0 to 999,999,999.
    public let nanoseconds: UInt32

    /// A point in time; nil unless the nanoseconds are less than a second.
    public init?(seconds: Int64, nanoseconds: UInt32) {
        guard nanoseconds < 1_000_000_000 else { return nil }
        (self.seconds, self.nanoseconds) = (seconds, nanoseconds)
    }

    /// A whole second.
    public init(seconds: Int64) { (self.seconds, nanoseconds) = (seconds, 0) }

    /// The nearest nanosecond; nil of what is no number, or too large.
    public init?(secondsSince1970 seconds: Double) {
        let whole = seconds.rounded(.down)
        guard let second = Int64(exactly: whole) else { return nil }
        self.init(second, fraction: seconds - whole)
    }

    /// A second and a part of the next, to the nearest nanosecond; nil where that is no time.
    public init?(_ second: Int64, fraction: Double) {
        let nanoseconds = (fraction * 1_000_000_000).rounded()
        guard nanoseconds >= 0, nanoseconds <= 1_000_000_000 else { return nil }
        if nanoseconds < 1_000_000_000 {
            (seconds, self.nanoseconds) = (second, UInt32(nanoseconds))
        } else {
            guard second < .max else { return nil }
            (seconds, self.nanoseconds) = (second + 1, 0)
        }
    }

    /// Seconds since 1970, rounded to the nearest double: today that is a quarter of a microsecond.
    public var secondsSince1970: Double { Double(seconds) + Double(nanoseconds) / 1_000_000_000 }

    /// Earlier is less.
    public static func < (one: Timestamp, other: Timestamp) -> Bool {
        (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
    }
}

// "Timestamp extension type" of the MessagePack specification, and tags 0 and 1 of RFC 8949 §3.4.
extension ByteWriter {
    /// Appends a timestamp in the shortest form: MessagePack's own, or CBOR's number of seconds under the tag 1.
    public mutating func timestamp(_ time: Timestamp, _ format: BinaryFormat) {
        if format.isCBOR {
            append(0xC1)
            return time.nanoseconds == 0 ? signed(time.seconds, format) : float(time.secondsSince1970, format)
        }
        if let seconds = UInt32(exactly: time.seconds), time.nanoseconds == 0 {
            append(0xD6, Int8(-1))
            appendBig(seconds)
        } else if time.seconds >= 0, time.seconds < 1 << 34 {
            append(0xD7, Int8(-1))
            appendBig(UInt64(time.nanoseconds) << 34 | UInt64(time.seconds))
        } else {
            append(0xC7, UInt8(12))
            append(0xFF, time.nanoseconds)
            appendBig(time.seconds)
        }
    }

    private mutating func appendBig<Number: FixedWidthInteger>(_ number: Number) {
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe append($0) }
    }
}

extension ByteReader {
    /// Takes the content of MessagePack's timestamp, whose head said this length; nil if it is none.
    public mutating func messagePackTimestamp(_ length: Int) throws(CodecError) -> Timestamp? {
        switch length {
        case 4: return Timestamp(seconds: Int64(try integer(UInt32.self)))
        case 8:
            let bits = try integer(UInt64.self)
            return Timestamp(seconds: Int64(bits & (1 << 34 - 1)), nanoseconds: UInt32(bits >> 34))
        case 12:
            let nanoseconds = try integer(UInt32.self)
            return Timestamp(seconds: try integer(), nanoseconds: nanoseconds)
        default:
            try skip(length)
            return nil
        }
    }
}
