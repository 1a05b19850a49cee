import RoomCore
import Testing

/// The time that decides what a log forgets.
///
/// No single reading of a calendar sets it.
struct LogClockTests {
    private let start: Int64 = 1_767_225_600_000
    private let hour: Int64 = 3_600_000
    private let day: Int64 = 86_400_000

    @Test func `a new log starts with the calendar's time and follows it while the hub runs`() {
        var clock = LogClock()
        clock.read(calendar: start, ran: 0)
        #expect(clock.time == start)
        clock.read(calendar: start + day, ran: day)
        #expect(clock.time == start + day && clock.doubt == nil)
    }

    @Test func `a start moves the log's time by an hour at most`() {
        var clock = LogClock(.init(time: start, expected: start))
        clock.read(calendar: start + 20 * day, ran: 0)
        #expect(clock.time == start + hour && clock.doubt == nil)
        // As after many restarts in a row.
        for number: Int64 in 2...5 {
            clock = LogClock(clock.record)
            clock.read(calendar: start + 20 * day, ran: 0)
            #expect(clock.time == start + number * hour)
        }
        clock.read(calendar: start + 20 * day + 500, ran: 500)
        #expect(clock.time == start + 5 * hour + 500)
    }

    @Test func `a calendar that jumps ahead while the hub runs does not move the log's time`() {
        var clock = LogClock(.init(time: start, expected: start))
        clock.read(calendar: start, ran: 0)
        clock.read(calendar: start + 29 * day, ran: 1000)
        #expect(clock.time == start + 1000 && clock.doubt == nil)
        clock.read(calendar: start + 100 * day, ran: 2000)
        #expect(clock.time == start + 1000)
        #expect(clock.doubt == .ahead(71 * day - 1000))
        // The calendar is corrected to a time far behind the last accepted one, which is accepted after a while.
        clock.read(calendar: start + 3000, ran: 3000)
        #expect(clock.doubt == .behind(29 * day - 1000))
        #expect(clock.time == start + 1000)
    }

    @Test func `the log's time never goes back, and stands still while the calendar is far behind`() {
        var clock = LogClock(.init(time: start, expected: start))
        clock.read(calendar: start - hour, ran: 0)
        #expect(clock.doubt == nil && clock.time == start)
        clock.read(calendar: start - 3 * hour, ran: 1000)
        #expect(clock.doubt == .behind(2 * hour + 1000) && clock.time == start)
        clock.read(calendar: start + 2000, ran: 2000)
        #expect(clock.doubt == nil && clock.time == start + 1000)
    }

    @Test func `a doubted calendar stays doubted over restarts, and is accepted after a week of running`() {
        var clock = LogClock(.init(time: start, expected: start))
        let later = start + 400 * day
        for _ in 1...20 {
            clock = LogClock(clock.record)
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

    @Test func `extreme readings do no harm`() {
        var clock = LogClock(.init(time: start, expected: start))
        for calendar in [Int64.min, .max, 0, -1] as [Int64] {
            for ran in [Int64.min / 2, 0, -5, Int64.max / 2] as [Int64] {
                clock.read(calendar: calendar, ran: ran)
                #expect(clock.time >= start)
            }
        }
        #expect(LogClock(.init(time: .min, expected: .max)).time == 0)
    }

    // MARK: A young log

    @Test func `a new log whose first clock was far ahead follows a correction back`() {
        var clock = LogClock()
        clock.read(calendar: start + 400 * day, ran: 0)
        clock.read(calendar: start + 400 * day + 300_000, ran: 300_000)
        #expect(clock.time == start + 400 * day + 300_000 && clock.isYoung)
        // The clock is corrected after a few minutes, or at the next start.
        clock = LogClock(clock.record)
        clock.read(calendar: start, ran: 0)
        #expect(clock.time == start && clock.expected == start && clock.doubt == nil)
        clock.read(calendar: start + 1000, ran: 1000)
        #expect(clock.time == start + 1000)
    }

    @Test func `an empty log takes each new reading, also a later one`() {
        var clock = LogClock()
        clock.read(calendar: 5000, ran: 0, holdsNothing: true)
        clock.read(calendar: start, ran: 1000, holdsNothing: true)
        #expect(clock.time == start && clock.doubt == nil)
        clock.read(calendar: start + 100 * day, ran: 2000)
        #expect(clock.time == start && clock.doubt == .ahead(100 * day - 1000), "it holds something now")
        // A log that is no longer young does not do so when all its devices were forgotten.
        clock = LogClock(.init(time: start, expected: start))
        clock.read(calendar: start - 5 * day, ran: 0, holdsNothing: true)
        #expect(clock.time == start && clock.doubt == .behind(5 * day))
    }

    @Test func `a log is young until its time has advanced by a day or it has forgotten something`() {
        var clock = LogClock()
        clock.read(calendar: start, ran: 0)
        clock.read(calendar: start + day - 1, ran: day - 1)
        #expect(clock.isYoung)
        var other = clock
        other.hasForgotten()
        #expect(!other.isYoung)
        clock.read(calendar: start + day, ran: day)
        #expect(!clock.isYoung && clock.record.risen == LogClock.youth)
        for var clock in [clock, other, LogClock(clock.record)] {
            clock.read(calendar: start - 3 * day, ran: 2 * day)
            #expect(clock.time >= start + day - 1 && clock.doubt != nil)
        }
    }

    // MARK: Catching up

    @Test(arguments: [1, 3, 12] as [Int64])
    func `the log's time of a hub that is mostly off does not fall behind without limit`(hours: Int64) {
        var (clock, calendar) = (LogClock(.init(time: start, expected: start)), start)
        var (worst, later): (Int64, Int64) = (0, 0)
        for number in 0..<400 as Range<Int64> {
            clock = LogClock(clock.record)
            for ran in stride(from: 0, through: hours * hour, by: 600_000) { clock.read(calendar: calendar + ran, ran: ran) }
            #expect(clock.doubt == nil && clock.time <= calendar + hours * hour)
            calendar += day
            if number < 200 { worst = max(worst, calendar - clock.time) } else { later = max(later, calendar - clock.time) }
        }
        #expect(later <= worst + day && later < 110 * day)
    }

    @Test func `the log's time catches up with a calendar that is steady for two days of running, by at most 60 days at once`() {
        var clock = LogClock(.init(time: start, expected: start))
        clock.read(calendar: start + 29 * day, ran: 0)
        clock.read(calendar: start + 58 * day, ran: 1000)
        clock.read(calendar: start + 87 * day, ran: 2000)
        #expect(clock.time == start + hour + 2000 && clock.record.candidate == start + 29 * day)
        clock.read(calendar: start + 89 * day - 2001, ran: 2 * day - 1)
        #expect(clock.time == start + hour + 2 * day - 1)
        // The calendar stays steady over a restart, too.
        clock = LogClock(clock.record)
        clock.read(calendar: start + 89 * day, ran: 0)
        clock.read(calendar: start + 89 * day + 1, ran: 1)
        #expect(clock.time == start + 29 * day && clock.record.candidate == start + 89 * day + 1)
        clock.read(calendar: start + 91 * day + 1, ran: 2 * day + 1)
        #expect(clock.time == start + 89 * day + 1)
    }

    @Test func `the log's time does not catch up with a reading that was withdrawn or is in doubt`() {
        var clock = LogClock(.init(time: start, expected: start))
        clock.read(calendar: start + 20 * day, ran: 0)
        clock.read(calendar: start + 20 * day + hour / 2, ran: hour / 2)
        // A withdrawal by half an hour is enough.
        clock.read(calendar: start + 20 * day - 1, ran: hour / 2 + 1)
        clock.read(calendar: start + 22 * day - 2, ran: hour / 2 + 2 * day)
        #expect(clock.doubt == nil && clock.time == start + hour + hour / 2 + 2 * day)
        clock = LogClock(.init(time: start, expected: start))
        clock.read(calendar: start + 20 * day, ran: 0)
        clock.read(calendar: start + 200 * day, ran: day)
        clock.read(calendar: start + 22 * day, ran: 2 * day)
        #expect(clock.doubt == nil && clock.time == start + hour + day && clock.record.stood == 0)
    }

    @Test func `no jump of the log's time is longer than 60 days`() {
        var record = LogClock.Record(time: start, expected: start + 200 * day)
        (record.candidate, record.stood) = (start + 200 * day, 2 * day - 1)
        var clock = LogClock(record)
        clock.read(calendar: start + 200 * day, ran: 0)
        clock.read(calendar: start + 200 * day, ran: 1)
        #expect(clock.time == start + hour + 1 + 60 * day)
    }

    @Test func `a doubt ends after a week of running, however often the hub is started`() {
        var clock = LogClock(.init(time: start, expected: start))
        let later = start + 400 * day
        for number in 0..<7 as Range<Int64> {
            clock = LogClock(clock.record)
            clock.read(calendar: later + number * day, ran: 0)
            #expect(clock.doubt == .ahead(400 * day))
            clock.read(calendar: later + (number + 1) * day, ran: day)
        }
        #expect(clock.doubt == nil && clock.time == start + day && clock.record.doubted == 0)
    }

    @Test func `a clock record is far from another only if a field differs by the given time, apart from the expected time`() {
        let record = LogClock.Record(time: start, expected: start)
        var other = record
        #expect(!record.isFar(from: other, by: 1))
        other.expected += day
        #expect(!record.isFar(from: other, by: 1))
        for change in [\.time, \.doubted, \.stood] as [WritableKeyPath<LogClock.Record, Int64>] {
            other = record
            other[keyPath: change] += 600_000
            #expect(record.isFar(from: other, by: 600_000) && other.isFar(from: record, by: 600_000))
            #expect(!record.isFar(from: other, by: 600_001))
        }
    }
}
