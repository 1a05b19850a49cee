/// A day of the Gregorian calendar, which begins at midnight UTC.
public struct CalendarDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Days since 1970-01-01.
    public let daysSince1970: Int

    /// Reads `2027-06-30`; nil if that is no day.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2], parts.allSatisfy({ HeaderSyntax.isDecimal($0) }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2])
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// Makes a day; nil if there is none such.
    public init?(year: Int, month: Int, day: Int) {
        guard 1...9999 ~= year, 1...12 ~= month, 1...31 ~= day else { return nil }
        // The year is counted from March, so that the leap day is its last.
        let (marchYear, marchMonth) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        daysSince1970 = marchYear * 365 + leapDays + (marchMonth * 153 + 2) / 5 + day - 719_469
        // The 30th of February is written as another day.
        guard (self.year, self.month, self.day) == (year, month, day) else { return nil }
    }

    /// The day that this second belongs to, counted from 1970 in UTC.
    public init(secondsSince1970 seconds: Int64) {
        daysSince1970 = Int((seconds - (seconds % 86_400 + 86_400) % 86_400) / 86_400)
    }

    /// When the day begins.
    public var secondsSince1970: Int64 { Int64(daysSince1970) * 86_400 }

    /// As `2027-06-30`.
    public var description: String { "\(Self.padded(year, to: 4))-\(Self.padded(month, to: 2))-\(Self.padded(day, to: 2))" }

    /// Whether the left one is earlier.
    public static func < (left: Self, right: Self) -> Bool { left.daysSince1970 < right.daysSince1970 }

    private var year: Int { civil.year }
    private var month: Int { civil.month }
    private var day: Int { civil.day }

    private var civil: (year: Int, month: Int, day: Int) {
        let days = daysSince1970 + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func padded(_ number: Int, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
