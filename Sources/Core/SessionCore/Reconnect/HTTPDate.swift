public import WebSocketCore

/// A date and time in an HTTP format (RFC 9110 §5.6.7).
///
/// The weekday must be a valid name, but it is not compared with the date.
struct HTTPDate: Hashable, Sendable {
    /// The maximum length of a date in bytes.
    static let longest = 64

    let secondsSince1970: Int64
    let year: Int

    /// Reads `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
    ///
    /// A two-digit year means the year with these last digits that is at most 50 years after `near` and less than 50 years before it.
    init?(_ text: String, near: Int = 2020) {
        guard text.utf8.count <= Self.longest else { return nil }
        let parts = text.split(separator: " ")
        switch parts.count {
        case 6 where Self.weekdays.contains { parts[0] == $0.prefix(3) + "," } && parts[5] == "GMT":  // IMF-fixdate
            self.init(day: parts[1].number(2...2), month: parts[2], year: parts[3].number(4...4), time: parts[4])
        case 5 where Self.weekdays.contains { parts[0] == $0.prefix(3) }:  // asctime
            self.init(day: parts[2].number(1...2), month: parts[1], year: parts[4].number(4...4), time: parts[3])
        case 4 where Self.weekdays.contains { parts[0] == $0 + "," } && parts[3] == "GMT":  // RFC 850
            let date = parts[1].split(separator: "-", omittingEmptySubsequences: false)
            guard date.count == 3, let ending = date[2].number(2...2) else { return nil }
            let latest = near + 50
            let year = latest - ((latest - ending) % 100 + 100) % 100
            self.init(day: date[0].number(2...2), month: date[1], year: year, time: parts[2])
        default: return nil
        }
    }

    private init?(day: Int?, month: Substring, year: Int?, time: Substring) {
        let time = time.split(separator: ":", omittingEmptySubsequences: false).map { $0.number(2...2) ?? .max }
        guard let day, let year, year >= 1, let month = Self.months.firstIndex(of: month).map({ $0 + 1 }),
            1...Self.days(inMonth: month, year: year) ~= day,
            time.count == 3, time[0] < 24, time[1] < 60, time[2] <= 60  // 60 is a leap second.
        else { return nil }
        self.year = year
        secondsSince1970 = Int64(((Self.days(year, month, day) * 24 + time[0]) * 60 + time[1]) * 60 + time[2])
    }

    /// Returns the days since 1970-01-01 in the Gregorian calendar.
    ///
    /// The year starts in March, so that the leap day is its last day.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let (year, month) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        return year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469
    }

    private static func days(inMonth month: Int, year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    private static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let months: [Substring] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}

extension Substring {
    /// The number, if the text consists only of this many decimal digits.
    fileprivate func number(_ count: ClosedRange<Int>) -> Int? {
        count ~= utf8.count && utf8.allSatisfy { 0x30...0x39 ~= $0 } ? Int(self) : nil
    }
}

extension HeaderFields {
    /// How long the server asks the client to wait, from `Retry-After` (RFC 9110 §10.2.3); nil if the field is missing or invalid.
    ///
    /// The value is a number of seconds, or a date in any of the three forms of §5.6.7. A date is measured from the response's own `Date`,
    /// so the clocks of both sides need not agree. Without a `Date` field, a date is ignored. The result is never negative and at most 2³¹
    /// − 1 s.
    public var retryAfter: Duration? {
        guard let value = self["Retry-After"], value.utf8.count <= HTTPDate.longest else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) { return bounded(Int64(value) ?? .max) }
        guard let sent = self["Date"].flatMap({ HTTPDate($0) }), let date = HTTPDate(value, near: sent.year) else { return nil }
        return bounded(date.secondsSince1970 - sent.secondsSince1970)
    }

    private func bounded(_ seconds: Int64) -> Duration { .seconds(seconds > 0 ? Int64(Int32(clamping: seconds)) : 0) }
}
