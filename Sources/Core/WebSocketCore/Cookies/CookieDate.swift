/// Reads the dates of cookies, which servers write in many ways (RFC 6265 §5.1.1).
enum CookieDate {
    /// Seconds since 1970; nil if it is no date.
    static func seconds(_ text: some StringProtocol) -> Int64? {
        var (time, day, month, year) = (Int64?.none, Int?.none, Int?.none, Int?.none)
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = timeOfDay(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = monthNumber(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if year < 70 { year += 2000 } else if year < 100 { year += 1900 }
        guard year >= 1601, let date = CalendarDate(year: year, month: month, day: day) else { return nil }
        return date.secondsSince1970 + time
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    /// The number that a token begins with; what follows is no digit.
    private static func number<Token: Collection<UInt8>>(_ token: Token, digits: ClosedRange<Int>) -> Int? {
        let leading = token.prefix(while: isDigit)
        return digits ~= leading.count ? leading.reduce(0) { $0 * 10 + Int($1 - 0x30) } : nil
    }

    private static func timeOfDay<Token: Collection<UInt8>>(_ token: Token) -> Int64? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts.prefix(2).allSatisfy({ $0.allSatisfy(isDigit) }),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2), hour < 24, minute < 60, second < 60
        else { return nil }
        return Int64((hour * 60 + minute) * 60 + second)
    }

    private static func monthNumber<Token: Collection<UInt8>>(_ token: Token) -> Int? {
        let name = token.prefix(3).map(HeaderSyntax.lowercased)
        return months.firstIndex { $0.utf8.elementsEqual(name) }.map { $0 + 1 }
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
}
