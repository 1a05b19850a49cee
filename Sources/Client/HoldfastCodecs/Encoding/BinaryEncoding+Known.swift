import CodecCore
import Foundation

extension BinaryEncoding {
    /// Writes a value of a type with a form of its own in these formats, or for which there is a shorter way; false of any other.
    func writeKnown<Value: Encodable>(_ value: Value, _ level: Int) throws -> Bool {
        // Comparing types is much cheaper than casting values.
        if Value.self == String.self {
            try write(unsafeBitCast(value, to: String.self), level)
        } else if Value.self == Double.self {
            writer.float(unsafeBitCast(value, to: Double.self), format)
        } else if Value.self == Int.self {
            writer.signed(Int64(unsafeBitCast(value, to: Int.self)), format)
        } else if Value.self == Date.self {
            try write(date: unsafeBitCast(value, to: Date.self), level)
        } else if Value.self == Data.self {
            try unsafeBitCast(value, to: Data.self).withUnsafeBytes { try writer.binary($0, format) }
        } else if Value.self == Bool.self {
            writer.bool(unsafeBitCast(value, to: Bool.self), format)
        } else if Value.self == Float.self {
            writer.float(Double(unsafeBitCast(value, to: Float.self)), format)
        } else if Value.self == URL.self, let url = value as? URL {
            try write(url.absoluteString, level)
        } else if Value.self == Decimal.self {
            try write(unsafeBitCast(value, to: Decimal.self).description, level)
        } else {
            return false
        }
        return true
    }

    private func write(date: Date, _ level: Int) throws {
        guard let time = Timestamp(date) else {
            // Foundation cannot print such a date, so the error has its number.
            throw fault(date.timeIntervalSinceReferenceDate, level, "it is no time that can be written")
        }
        switch options.dates {
        case .native: writer.timestamp(time, format)
        case .seconds: writer.float(date.timeIntervalSince1970, format)
        case .iso8601: try write(time.description, level)
        }
    }
}

extension Timestamp {
    /// From 1970 to 2001, where a `Date` starts to count.
    private static let reference: Int64 = 978_307_200

    /// The time of a date; nil if it is none, or too far away.
    init?(_ date: Date) {
        // A double of seconds since 1970 would hold less of the date than the date does.
        let seconds = date.timeIntervalSinceReferenceDate
        let whole = seconds.rounded(.down)
        guard let second = Int64(exactly: whole) else { return nil }
        let (sum, overflow) = second.addingReportingOverflow(Self.reference)
        guard !overflow else { return nil }
        self.init(sum, fraction: seconds - whole)
    }

    /// The nearest date.
    var date: Date {
        let (seconds, overflow) = seconds.subtractingReportingOverflow(Self.reference)
        let whole = overflow ? Double(self.seconds) - Double(Self.reference) : Double(seconds)
        return Date(timeIntervalSinceReferenceDate: whole + Double(nanoseconds) / 1_000_000_000)
    }
}
