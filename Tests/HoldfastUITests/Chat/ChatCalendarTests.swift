import Foundation
import Testing

@testable import HoldfastUI

@Suite struct ChatCalendarTests {
    private static let utc = ChatCalendar { _ in 0 }

    private static func time(_ text: String) throws -> Int64 {
        let formatter = ISO8601DateFormatter()
        return Int64(try #require(formatter.date(from: text)).timeIntervalSince1970 * 1000)
    }

    @Test(arguments: [
        ("2026-03-10T23:59:59Z", ChatCalendar.Name.today),
        ("2026-03-10T00:00:00Z", .today),
        ("2026-03-09T23:59:59Z", .yesterday),
        ("2026-03-08T12:00:00Z", .weekday),
        ("2026-03-04T00:00:00Z", .weekday),
        ("2026-03-03T23:59:59Z", .date),
        ("2026-01-01T00:00:00Z", .date),
        ("2025-12-31T23:59:59Z", .dateAndYear),
        ("2026-03-11T00:00:00Z", .date),
        ("2027-01-01T00:00:00Z", .dateAndYear),
    ]) func `recent days have relative names, and others have dates`(text: String, name: ChatCalendar.Name) throws {
        #expect(Self.utc.name(of: try Self.time(text), at: try Self.time("2026-03-10T12:00:00Z")) == name)
    }

    @Test func `yesterday is the previous calendar day, also when clocks change`() throws {
        // The clock change in Berlin in the night of 2026-03-29: from 02:00 to 03:00 local time, at 01:00 UTC.
        let change = try Self.time("2026-03-29T01:00:00Z") / 1000
        let berlin = ChatCalendar { $0 < change ? 3600 : 7200 }
        let now = try Self.time("2026-03-29T22:30:00Z")  // 00:30 on the 30th.
        #expect(berlin.name(of: try Self.time("2026-03-28T23:00:00Z"), at: now) == .yesterday)
        #expect(berlin.name(of: try Self.time("2026-03-28T22:59:59Z"), at: now) == .weekday)
        #expect(berlin.name(of: try Self.time("2026-03-29T22:00:00Z"), at: now) == .today)
    }

    @Test func `years agree with Foundation's calendar`() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        for day in stride(from: Int64(0), through: 2_932_896, by: 13) {
            let year = calendar.component(.year, from: Date(timeIntervalSince1970: Double(day) * 86_400))
            try #require(ChatCalendar.year(of: day) == Int64(year), "day \(day)")
        }
    }

    @Test func `times outside the calendar's range count as the nearest valid time`() {
        #expect(Self.utc.day(of: .min) == 0)
        #expect(Self.utc.day(of: -1) == 0)
        #expect(ChatCalendar.year(of: Self.utc.day(of: .max)) == 9999)
        #expect(ChatCalendar { _ in -3600 }.day(of: 0) == -1)
        #expect(ChatCalendar { _ in -3600 }.name(of: 0, at: 0) == .today)
    }
}
