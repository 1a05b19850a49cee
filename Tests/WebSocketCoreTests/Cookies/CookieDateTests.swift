import Testing

@testable import WebSocketCore

/// RFC 6265 §5.1.1.
@Suite struct CookieDateTests {
    @Test(
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "6 nov 1994 8:49:37",
            "1994 6 November 08:49:37x", "08:49:37 6th Novel 94", "Nov/6/94/08:49:37", "x 06 y Nov 094 08:49:37 07 Dec 1995 09:00:00",
        ])
    func `a date is parsed in any order and punctuation`(text: String) { #expect(CookieDate.seconds(text) == 784_111_777) }

    @Test(arguments: [("69", 2069), ("00", 2000), ("70", 1970), ("99", 1999), ("1601", 1601)])
    func `a year of two digits is between 1970 and 2069`(year: String, expected: Int) {
        #expect(CookieDate.seconds("1 Jan \(year) 00:00:00") == CalendarDate("\(expected)-01-01")?.secondsSince1970)
    }

    @Test(
        arguments: [
            "", "never", "06 Nov 08:49:37", "Nov 1994 08:49:37", "06 1994 08:49:37", "06 Nov 1994", "06 Nov 1994 24:00:00",
            "06 Nov 1994 08:60:00", "06 Nov 1994 08:00:60", "31 Feb 1994 08:49:37", "0 Nov 1994 08:49:37", "06 Nov 1600 08:49:37",
            "06 Nov 19945 08:49:37", "006 Nov 94 08:49:37 x",
        ])
    func `an invalid date is nil`(text: String) { #expect(CookieDate.seconds(text) == nil) }
}
