/// A point in time: seconds since the start of 1970 in UTC, without leap seconds, plus nanoseconds.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// The whole seconds; negative before 1970.
    public let seconds: Int64
    /// The additional nanoseconds: 0 to 999,999,999.
    public let nanoseconds: UInt32

    /// Creates a point in time; fails if the nanoseconds are a second or more.
    public init?(seconds: Int64, nanoseconds: UInt32) {
        guard nanoseconds < 1_000_000_000 else { return nil }
        (self.seconds, self.nanoseconds) = (seconds, nanoseconds)
    }

    /// Creates a whole second.
    public init(seconds: Int64) { (self.seconds, nanoseconds) = (seconds, 0) }

    /// Creates a point in time to the nearest nanosecond; fails if the number is NaN or too large.
    public init?(secondsSince1970 seconds: Double) {
        let whole = seconds.rounded(.down)
        guard let second = Int64(exactly: whole) else { return nil }
        self.init(second, fraction: seconds - whole)
    }

    /// Creates a point in time from a second and a fraction, to the nearest nanosecond; fails if that is out of range.
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

    /// The seconds since 1970, rounded to the nearest double; today that is exact to a quarter of a microsecond.
    public var secondsSince1970: Double { Double(seconds) + Double(nanoseconds) / 1_000_000_000 }

    /// Returns whether the first is earlier.
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
    /// Reads the content of a MessagePack timestamp of this length; returns nil if it is not a timestamp.
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

extension Timestamp: CustomStringConvertible, LosslessStringConvertible {
    /// The time in RFC 3339 form, in UTC: `2026-11-21T09:30:00.25Z`.
    ///
    /// Years before 0 and after 9999 have a sign, which ISO 8601 allows but RFC 3339 does not.
    public var description: String {
        let (day, second) = seconds.flooredDivision(by: 86400)
        let (year, month, dayOfMonth) = Self.date(ofDay: day)
        let yearText = (0...9999).contains(year) ? Self.padded(year, 4) : (year < 0 ? "-" : "+") + Self.padded(abs(year), 4)
        var text = yearText + "-" + Self.padded(month, 2) + "-" + Self.padded(dayOfMonth, 2)
        text += "T" + Self.padded(second / 3600, 2) + ":" + Self.padded(second / 60 % 60, 2) + ":" + Self.padded(second % 60, 2)
        if nanoseconds > 0 {
            var digits = Self.padded(Int64(nanoseconds), 9)
            while digits.hasSuffix("0") { digits.removeLast() }
            text += "." + digits
        }
        return text + "Z"
    }

    /// Parses an RFC 3339 text with any offset, to the nanosecond; fails for anything else.
    ///
    /// A year with a sign may have more than four digits.
    public init?(_ description: String) {
        var text = TimeText(rest: Substring(description).utf8)
        let sign: Int64? = text.take("+") ? 1 : text.take("-") ? -1 : nil
        guard let year = text.year(isSigned: sign != nil).map({ $0 * (sign ?? 1) }), text.take("-"), let month = text.number(digits: 2),
            (1...12).contains(month),
            text.take("-"), let day = text.number(digits: 2), (1...Self.days(inMonth: month, of: year)).contains(day),
            text.take("T") || text.take("t") || text.take(" "),
            let hour = text.number(digits: 2), hour < 24, text.take(":"), let minute = text.number(digits: 2), minute < 60,
            text.take(":"), let second = text.number(digits: 2), second < 60, let fraction = text.fraction(), let offset = text.offset(),
            text.rest.isEmpty
        else { return nil }
        let days = Self.day(of: year, month, day)
        let rest = hour * 3600 + minute * 60 + second - offset
        // Counted towards 1970, because the earliest day is not complete.
        let (whole, isTooFar) = (days + (days < 0 ? 1 : 0)).multipliedReportingOverflow(by: 86400)
        let (seconds, isBeyond) = whole.addingReportingOverflow(rest - (days < 0 ? 86400 : 0))
        guard !isTooFar, !isBeyond else { return nil }
        self.init(seconds: seconds, nanoseconds: fraction)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }

    // Conversion between days and the civil calendar: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". Years start in March
    // there.
    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (day + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func day(of year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).flooredDivision(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
        return [4, 6, 9, 11].contains(month) ? 30 : 31
    }
}

extension Int64 {
    fileprivate func flooredDivision(by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

/// The unread part of a time's text.
private struct TimeText {
    var rest: Substring.UTF8View

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let byte = rest.first, UInt32(byte) == character.value else { return false }
        rest.removeFirst()
        return true
    }

    mutating func digit() -> Int64? {
        guard let byte = rest.first, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
        rest.removeFirst()
        return Int64(byte - UInt8(ascii: "0"))
    }

    mutating func number(digits: Int) -> Int64? {
        var number: Int64 = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// Reads four digits; with a sign also more, up to the range of timestamps.
    mutating func year(isSigned: Bool) -> Int64? {
        guard var year = number(digits: 4) else { return nil }
        while isSigned, year < 100_000_000_000, let digit = digit() { year = year * 10 + digit }
        return year
    }

    /// Reads the nanoseconds after a point, 0 without one.
    ///
    /// Further digits are ignored.
    mutating func fraction() -> UInt32? {
        guard take(".") else { return 0 }
        guard var nanoseconds = digit() else { return nil }
        var digits = 1
        while let digit = digit() {
            if digits < 9 { (nanoseconds, digits) = (nanoseconds * 10 + digit, digits + 1) }
        }
        for _ in digits..<9 { nanoseconds *= 10 }
        return UInt32(nanoseconds)
    }

    /// Reads the offset from UTC in seconds.
    mutating func offset() -> Int64? {
        if take("Z") || take("z") { return 0 }
        let sign: Int64
        if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
        guard let hours = number(digits: 2), hours < 24, take(":"), let minutes = number(digits: 2), minutes < 60 else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}
