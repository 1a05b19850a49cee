import HoldfastTesting
import SessionCore
import Testing
import WebSocketCore

/// RFC 9110 §10.2.3 and §5.6.7.
@Suite struct RetryAfterTests {
    private func retryAfter(_ value: String, sent date: String? = nil) -> Duration? {
        var headers: HeaderFields = ["retry-after": value]
        headers["Date"] = date
        return headers.retryAfter
    }

    @Test func `seconds are a wait`() {
        #expect(retryAfter("120") == .seconds(120))
        #expect(retryAfter("0") == .zero)
        #expect(retryAfter("007") == .seconds(7))
    }

    @Test func `a very long wait is limited`() {
        #expect(retryAfter("2147483647") == .seconds(2_147_483_647))
        #expect(retryAfter("2147483648") == .seconds(2_147_483_647))
        #expect(retryAfter(String(repeating: "9", count: 64)) == .seconds(2_147_483_647))
        #expect(retryAfter("Fri, 31 Dec 9999 23:59:59 GMT", sent: "Fri, 31 Dec 1999 23:59:59 GMT") == .seconds(2_147_483_647))
    }

    @Test(arguments: ["Sun, 06 Nov 1994 08:51:37 GMT", "Sunday, 06-Nov-94 08:51:37 GMT", "Sun Nov  6 08:51:37 1994"])
    func `a date in each of its three forms is relative to the response's Date`(date: String) {
        for sent in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            #expect(retryAfter(date, sent: sent) == .seconds(120))
        }
    }

    @Test func `a date in the past is no wait`() {
        #expect(retryAfter("Sun, 06 Nov 1994 08:49:36 GMT", sent: "Sun, 06 Nov 1994 08:49:37 GMT") == .zero)
    }

    @Test func `a date is ignored without the response's Date`() {
        #expect(retryAfter("Sun, 06 Nov 1994 08:49:37 GMT") == nil)
        #expect(retryAfter("Sun, 06 Nov 1994 08:49:37 GMT", sent: "yesterday") == nil)
    }

    @Test(arguments: [
        ("Wed, 28 Feb 2024 23:59:59 GMT", "Thu, 29 Feb 2024 00:00:00 GMT", 1),
        ("Tue, 28 Feb 2023 12:00:00 GMT", "Wed, 01 Mar 2023 12:00:00 GMT", 86_400),
        ("Wed, 28 Feb 2024 12:00:00 GMT", "Fri, 01 Mar 2024 12:00:00 GMT", 172_800),
        ("Mon, 28 Feb 2000 00:00:00 GMT", "Wed, 01 Mar 2000 00:00:00 GMT", 172_800),
        ("Sun, 28 Feb 2100 00:00:00 GMT", "Mon, 01 Mar 2100 00:00:00 GMT", 86_400),
        ("Thu, 31 Dec 2026 23:59:00 GMT", "Fri, 01 Jan 2027 00:01:00 GMT", 120),
        ("Thu, 01 Jan 2026 00:00:00 GMT", "Fri, 01 Jan 2027 00:00:00 GMT", 31_536_000),
        ("Thu, 31 Dec 2016 23:59:59 GMT", "Sat, 31 Dec 2016 23:59:60 GMT", 1),
        ("Fri, 31 Dec 1999 23:59:50 GMT", "Saturday, 01-Jan-00 00:00:00 GMT", 10),
        ("Thursday, 31-Dec-69 23:59:50 GMT", "Thu, 01 Jan 2070 00:00:00 GMT", 10),
    ])
    func `months, leap years and centuries are counted correctly`(sent: String, date: String, seconds: Int) {
        #expect(retryAfter(date, sent: sent) == .seconds(seconds))
    }

    @Test func `every day of a century follows the day before`() {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var (days, previous) = (0, "Sun, 31 Dec 1995 00:00:00 GMT")
        for year in 1996...2104 {
            for (month, name) in months.enumerated() {
                for day in 1...31 {
                    let date = "Sun, \(day < 10 ? "0" : "")\(day) \(name) \(year) 00:00:00 GMT"
                    guard let wait = retryAfter(date, sent: previous) else {
                        #expect(day > 28 && month != 0, "\(date) is a day")
                        continue
                    }
                    if wait != .seconds(86_400) { Issue.record("\(date) is \(wait) after \(previous)") }
                    (days, previous) = (days + 1, date)
                }
            }
        }
        #expect(days == 109 * 365 + 27, "2100 is not a leap year, although four divides it")
    }

    @Test func `a year of two digits is at most 50 years ahead`() {
        let sent = "Thu, 01 Jan 2026 00:00:00 GMT"
        #expect(retryAfter("Wednesday, 01-Jan-76 00:00:00 GMT", sent: sent) == .seconds(1_577_836_800))
        #expect(retryAfter("Friday, 01-Jan-77 00:00:00 GMT", sent: sent) == .zero)
    }

    @Test(arguments: [
        "", " ", "-1", "+5", "1.5", "5s", "0x10", "1e3", "5 5", "5, 6", "soon", "٣", "１２", "never ever", String(repeating: "1", count: 65),
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 29 Feb 2100 08:49:37 GMT", "Sun, 06 Nov 0000 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49:37:00 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37",
        "Sun 06 Nov 1994 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT", "Non, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov 08:49:37 GMT", "Sunday, 06-Nov-94-1 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 CET", "Sun Nov 6 08:49:37 94", "Sun Nov 006 08:49:37 1994", "Sun, Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 1994 GMT",
    ])
    func `an invalid value is ignored`(value: String) {
        #expect(retryAfter(value, sent: "Sat, 01 Jan 1994 00:00:00 GMT") == nil)
    }

    @Test func `random bytes neither trap nor give a negative wait`() {
        var random = SeededGenerator(seed: 11)
        let words = [
            "Sun,", "Sunday,", "Sun", "06", "6", "Nov", "06-Nov-94", "1994", "08:49:37", "GMT", " ", ":", "-", "99999999999", "é", "\0",
        ]
        for _ in 0..<20_000 {
            let value = (0..<Int.random(in: 0...7, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }
                .joined(separator: Bool.random(using: &random) ? " " : "")
            let wait = retryAfter(value, sent: Bool.random(using: &random) ? value : "Sun, 06 Nov 1994 08:49:37 GMT")
            #expect(wait ?? .zero >= .zero)
        }
    }

    @Test func `a response without the field gives no wait`() {
        #expect((["Date": "Sun, 06 Nov 1994 08:49:37 GMT"] as HeaderFields).retryAfter == nil)
    }
}
