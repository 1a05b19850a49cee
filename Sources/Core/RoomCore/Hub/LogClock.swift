/// The time of a log, by which it forgets devices; a single reading of the calendar never moves it far.
///
/// It advances only while a hub runs, and by a limited step at each start. So a wrong calendar must be wrong for days of running before
/// anything is forgotten because of it. A calendar that is far from the expected time is not trusted for a week of running: it is used
/// for everything else, but nothing is forgotten in that time.
///
/// A young log has forgotten nothing yet, so it may follow its calendar back: the very first reading may be the wrong one. If the hub is
/// off most of the time, the log's time lags; it catches up with a calendar value that has held for two days of running.
package struct LogClock: Hashable, Sendable {
    /// Why a calendar is not trusted.
    package enum Doubt: Hashable, Sendable, CustomStringConvertible {
        /// It is behind the log's last time by this many milliseconds.
        case behind(Int64)
        /// It is ahead of the log's last time by this many milliseconds.
        case ahead(Int64)

        /// A description for people.
        package var description: String {
            let place =
                switch self {
                case .behind(let distance): "\(Self.words(distance)) behind"
                case .ahead(let distance): "\(Self.words(distance)) ahead of"
                }
            return "it is \(place) the log's last time; nothing is forgotten meanwhile: correct the clock"
        }

        private static func words(_ distance: Int64) -> String {
            let hours = distance / 3_600_000
            return hours < 48 ? "\(hours) hours" : "\(hours / 24) days"
        }
    }
    /// The state that is stored; all values in milliseconds.
    package struct Record: Hashable, Sendable {
        /// See ``LogClock/time``.
        package var time: Int64
        /// See ``LogClock/expected``.
        package var expected: Int64
        /// By how much the time has advanced since the log was created, up to the limit of a young log.
        package var risen: Int64
        /// How long hubs have run in the current doubt.
        package var doubted: Int64 = 0
        /// The calendar value that is to be confirmed; 0: none.
        package var candidate: Int64 = 0
        /// How long hubs have run since that value was read.
        package var stood: Int64 = 0

        /// Creates a record from stored values; without `risen` the log is no longer young.
        package init(time: Int64, expected: Int64, risen: Int64 = LogClock.youth) {
            (self.time, self.expected, self.risen) = (time, expected, risen)
        }

        /// Returns whether an older record differs by at least this many milliseconds, so that it must be written again.
        package func isFar(from other: Record, by distance: UInt64) -> Bool {
            [time - other.time, doubted - other.doubted, stood - other.stood].contains { $0.magnitude >= distance }
        }
    }

    /// The state to be stored.
    package private(set) var record: Record
    /// Why nothing is forgotten; nil: the calendar is trusted.
    package private(set) var doubt: Doubt?
    /// How long the hub had run at the last reading; nil before the first.
    private var ran: Int64?

    /// The log's time in milliseconds since 1970 UTC, never ahead of what a calendar has shown; 0: none yet.
    package var time: Int64 { record.time }
    /// The expected calendar time, by the last trusted reading; 0: none yet.
    package var expected: Int64 { record.expected }
    /// Whether the log is so young that it follows its calendar back.
    package var isYoung: Bool { record.risen < Self.youth }

    /// The maximum step of the time at a start, in milliseconds: an hour.
    package static let step: Int64 = 3_600_000
    /// How far a calendar may be behind the expected time: an hour.
    package static let behind: Int64 = 3_600_000
    /// How far a calendar may be ahead of the expected time, because a hub may be off for a while: 30 days.
    package static let ahead: Int64 = 30 * 86_400_000
    /// The run time after which any calendar is trusted: seven days.
    package static let patience: Int64 = 7 * 86_400_000
    /// A log is young until its time has advanced by this much: a day.
    package static let youth: Int64 = 86_400_000
    /// The run time after which the log's time catches up with a calendar value that still holds: two days.
    package static let confirmation: Int64 = 2 * 86_400_000
    /// The maximum step of catching up: 60 days, so that a window of 90 days needs more than one step.
    package static let leap: Int64 = 60 * 86_400_000

    /// Creates the clock of a new log.
    package init() { record = Record(time: 0, expected: 0, risen: 0) }

    /// Creates the clock of a log from its stored state.
    package init(_ stored: Record) {
        func number(_ value: Int64, upTo most: Int64 = RoomsLimits.number) -> Int64 { min(max(value, 0), most) }
        record = Record(time: number(stored.time), expected: number(stored.expected), risen: number(stored.risen, upTo: Self.youth))
        (record.doubted, record.candidate) = (number(stored.doubted, upTo: Self.patience), number(stored.candidate))
        record.stood = number(stored.stood, upTo: Self.confirmation)
    }

    /// Takes a reading of the calendar.
    ///
    /// - Parameters:
    ///   - calendar: The time in milliseconds since 1970 UTC.
    ///   - ran: How long the hub has run since it opened the log, in milliseconds.
    ///   - holdsNothing: Whether the log is empty: then a young log starts again with every reading.
    package mutating func read(calendar: Int64, ran: Int64, holdsNothing: Bool = false) {
        let calendar = min(max(calendar, 0), RoomsLimits.number)
        let isFirst = self.ran == nil
        let passed = min(max(ran - (self.ran ?? ran), 0), Self.patience)
        self.ran = ran
        if max(time, expected) == 0 || isYoung && (holdsNothing || calendar < time) { return begin(with: calendar) }
        record.expected = min(expected + passed, RoomsLimits.number)
        if doubt != nil { record.doubted = min(record.doubted + passed, Self.patience) }
        if record.doubted < Self.patience {
            if calendar < expected - Self.behind { return distrust(.behind(expected - calendar)) }
            if calendar > expected + Self.ahead { return distrust(.ahead(calendar - expected)) }
        }
        (doubt, record.doubted, record.expected) = (nil, 0, calendar)
        rise(to: calendar, by: isFirst ? Self.step : passed)
        confirm(calendar, passed)
    }

    /// Records that something was forgotten by this time, which therefore must never go back.
    package mutating func hasForgotten() { record.risen = Self.youth }

    private mutating func begin(with calendar: Int64) {
        doubt = nil
        (record.time, record.expected, record.doubted, record.candidate) = (calendar, calendar, 0, 0)
    }

    private mutating func distrust(_ doubt: Doubt) {
        self.doubt = doubt
        record.candidate = 0
    }

    /// Catches up with a calendar value that has held for two days of running.
    private mutating func confirm(_ calendar: Int64, _ passed: Int64) {
        if record.candidate > 0, calendar >= record.candidate {
            record.stood = min(record.stood + passed, Self.confirmation)
            guard record.stood == Self.confirmation else { return }
            rise(to: record.candidate, by: Self.leap)
        }
        (record.candidate, record.stood) = (calendar, 0)
    }

    private mutating func rise(to calendar: Int64, by most: Int64) {
        let way = min(calendar - time, most)
        guard way > 0 else { return }
        record.time += way
        record.risen = min(record.risen + way, Self.youth)
    }
}
