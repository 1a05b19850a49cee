#if canImport(SwiftUI)
    import Foundation
#endif

/// Computes the day of a time in the reader's time zone.
struct ChatCalendar: Sendable {
    /// The form in which a day is named.
    enum Name: Hashable, Sendable {
        case today
        case yesterday
        /// The day of the week, for the six days before today.
        case weekday
        /// Day and month, for other days of this year.
        case date
        /// Day, month and year.
        case dateAndYear
    }

    /// Returns the offset from UTC in seconds at a time in seconds since 1970.
    let secondsFromGMT: @Sendable (_ time: Int64) -> Int

    /// The range of displayable times in milliseconds: 1970 to 9999.
    ///
    /// Other times are clamped, because a peer may send any number.
    static let times: ClosedRange<Int64> = 0...253_402_214_400_000

    /// Returns the number of the day since 1970-01-01 for a time in milliseconds.
    func day(of time: Int64) -> Int64 {
        let seconds = Self.shown(time) / 1000
        return Self.floor(seconds + Int64(secondsFromGMT(seconds)), 86_400)
    }

    /// Returns the form in which to name the day of a time, seen from now.
    func name(of time: Int64, at now: Int64) -> Name {
        let (day, today) = (day(of: time), day(of: now))
        switch today - day {
        case 0: return .today
        case 1: return .yesterday
        case 2...6: return .weekday
        default: return Self.year(of: day) == Self.year(of: today) ? .date : .dateAndYear
        }
    }

    /// Returns the time clamped to the displayable range.
    static func shown(_ time: Int64) -> Int64 { min(max(time, times.lowerBound), times.upperBound) }

    /// Returns the year of a day in the Gregorian calendar.
    ///
    /// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    static func year(of day: Int64) -> Int64 {
        let shifted = day + 719_468
        let era = floor(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        // The algorithm's years begin in March.
        return yearOfEra + era * 400 + (dayOfYear >= 306 ? 1 : 0)
    }

    private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
        value / divisor - (value % divisor < 0 ? 1 : 0)
    }
}

#if canImport(SwiftUI)
    /// Formats times for the reader's locale and time zone.
    enum ChatTime {
        /// The calendar in the reader's time zone.
        static let calendar = ChatCalendar {
            TimeZone.autoupdatingCurrent.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0)))
        }

        /// Returns the time of day, such as 12:04.
        static func clock(_ time: Int64) -> String { date(time).formatted(.dateTime.hour().minute()) }

        /// Returns the name of a day relative to now.
        static func day(_ time: Int64, at now: Date, _ words: Words) -> String {
            switch calendar.name(of: time, at: Int64(now.timeIntervalSince1970 * 1000)) {
            case .today: words(.today)
            case .yesterday: words(.yesterday)
            case .weekday: date(time).formatted(.dateTime.weekday(.wide))
            case .date: date(time).formatted(.dateTime.day().month(.wide))
            case .dateAndYear: date(time).formatted(.dateTime.day().month(.wide).year())
            }
        }

        private static func date(_ time: Int64) -> Date { Date(timeIntervalSince1970: Double(ChatCalendar.shown(time)) / 1000) }
    }
#endif
