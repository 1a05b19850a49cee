import RoomCore
import Testing

/// By which time a log forgets: not by any one reading of a calendar.
struct LogClockTests {
    private let start: Int64 = 1_767_225_600_000
    private let hour: Int64 = 3_600_000
    private let day: Int64 = 86_400_000

    @Test func `a new log begins with the calendar, and goes on with it while the hub runs`() {
        var clock = LogClock()
        clock.read(calendar: start, ran: 0)
        #expect(clock.time == start)
        clock.read(calendar: start + day, ran: day)
        #expect(clock.time == start + day && clock.doubt == nil)
    }

    @Test func `a start moves it by an hour at most`() {
        var clock = LogClock(time: start, expected: start)
        clock.read(calendar: start + 20 * day, ran: 0)
        #expect(clock.time == start + hour && clock.doubt == nil)
        // As if it were restarted again and again.
        for number: Int64 in 2...5 {
            clock = LogClock(time: clock.time, expected: clock.expected)
            clock.read(calendar: start + 20 * day, ran: 0)
            #expect(clock.time == start + number * hour)
        }
        clock.read(calendar: start + 20 * day + 500, ran: 500)
        #expect(clock.time == start + 5 * hour + 500)
    }

    @Test func `a calendar that jumps ahead while the hub runs does not move it`() {
        var clock = LogClock(time: start, expected: start)
        clock.read(calendar: start, ran: 0)
        clock.read(calendar: start + 29 * day, ran: 1000)
        #expect(clock.time == start + 1000 && clock.doubt == nil)
        clock.read(calendar: start + 100 * day, ran: 2000)
        #expect(clock.time == start + 1000)
        #expect(clock.doubt == .ahead(71 * day - 1000))
        // It is set right, which is far behind what was believed last; after a while that is believed.
        clock.read(calendar: start + 3000, ran: 3000)
        #expect(clock.doubt == .behind(29 * day - 1000))
        #expect(clock.time == start + 1000)
    }

    @Test func `it never goes back, and stands still while the calendar is far behind`() {
        var clock = LogClock(time: start, expected: start)
        clock.read(calendar: start - hour, ran: 0)
        #expect(clock.doubt == nil && clock.time == start)
        clock.read(calendar: start - 3 * hour, ran: 1000)
        #expect(clock.doubt == .behind(2 * hour + 1000) && clock.time == start)
        clock.read(calendar: start + 2000, ran: 2000)
        #expect(clock.doubt == nil && clock.time == start + 1000)
    }

    @Test func `a doubt outlives restarts, and ends after a week of running`() {
        var clock = LogClock(time: start, expected: start)
        let later = start + 400 * day
        for _ in 1...20 {
            clock = LogClock(time: clock.time, expected: clock.expected)
            clock.read(calendar: later, ran: 0)
            #expect(clock.doubt == .ahead(400 * day) && clock.time == start)
        }
        for number: Int64 in 1..<7 {
            clock.read(calendar: later + number * day, ran: number * day)
            #expect(clock.doubt == .ahead(400 * day) && clock.time == start)
        }
        clock.read(calendar: later + 7 * day, ran: 7 * day)
        #expect(clock.doubt == nil && clock.expected == later + 7 * day && clock.time == start + day)
    }

    @Test func `readings that make no sense do no harm`() {
        var clock = LogClock(time: start, expected: start)
        for calendar in [Int64.min, .max, 0, -1] as [Int64] {
            for ran in [Int64.min / 2, 0, -5, Int64.max / 2] as [Int64] {
                clock.read(calendar: calendar, ran: ran)
                #expect(clock.time >= start)
            }
        }
        #expect(LogClock(time: .min, expected: .max).time == 0)
    }
}
