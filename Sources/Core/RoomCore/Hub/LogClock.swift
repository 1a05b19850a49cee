/// The time of a log, by which it forgets: no single reading of a calendar moves it far.
///
/// It goes on only as long as a hub runs, and a bounded step with each start. So a calendar that is wrong has to be wrong for days of running
/// before anything is forgotten for it. A calendar that is far from where it should be is not believed at all for a week of running: it is
/// followed for all else, and nothing is forgotten meanwhile.
///
/// A log that is young has forgotten nothing yet, so it may follow its calendar back: the first reading of all may be the wrong one. Where
/// the hub is mostly off, its time lags; it catches up with what the calendar has stood by for two days of running.
package struct LogClock: Hashable, Sendable {
    /// Why a calendar is not believed.
    package enum Doubt: Hashable, Sendable, CustomStringConvertible {
        /// It is behind the log's last time by so many milliseconds.
        case behind(Int64)
        /// It is ahead of the log's last time by so many milliseconds.
        case ahead(Int64)

        /// For people.
        package var description: String {
            let place =
                switch self {
                case .behind(let distance): "\(Self.words(distance)) behind"
                case .ahead(let distance): "\(Self.words(distance)) ahead of"
                }
            return "it is \(place) the log's last time; nothing is forgotten meanwhile: set it right"
        }

        private static func words(_ distance: Int64) -> String {
            let hours = distance / 3_600_000
            return hours < 48 ? "\(hours) hours" : "\(hours / 24) days"
        }
    }
    /// What outlives the hub's process; all of it in milliseconds.
    package struct Record: Hashable, Sendable {
        /// See ``LogClock/time``.
        package var time: Int64
        /// See ``LogClock/expected``.
        package var expected: Int64
        /// By how much the time has gone on since the log began, as far as its youth.
        package var risen: Int64
        /// For how long hubs have run in the present doubt.
        package var doubted: Int64 = 0
        /// What the calendar has said, and not taken back since; 0: nothing yet.
        package var candidate: Int64 = 0
        /// For how long hubs have run since.
        package var stood: Int64 = 0

        /// A record as it was stored; a log that does not say how far its time has risen is no longer young.
        package init(time: Int64, expected: Int64, risen: Int64 = LogClock.youth) {
            (self.time, self.expected, self.risen) = (time, expected, risen)
        }

        /// Whether so many milliseconds are missing in an older record that it is to be written again.
        package func isFar(from other: Record, by distance: UInt64) -> Bool {
            [time - other.time, doubted - other.doubted, stood - other.stood].contains { $0.magnitude >= distance }
        }
    }

    /// What is to be stored of it.
    package private(set) var record: Record
    /// Why nothing is forgotten; nil: all is well.
    package private(set) var doubt: Doubt?
    /// How long the hub had run at the last reading; nil before the first.
    private var ran: Int64?

    /// The log's time, in milliseconds since 1970 UTC, never ahead of what a calendar has said; 0: none yet.
    package var time: Int64 { record.time }
    /// What the calendar should say, by the last reading that was believed; 0: none yet.
    package var expected: Int64 { record.expected }
    /// Whether the log is so young that it follows its calendar back.
    package var isYoung: Bool { record.risen < Self.youth }

    /// How far a start moves the time at most, in milliseconds: an hour.
    package static let step: Int64 = 3_600_000
    /// How far a calendar may be behind where it should be: an hour.
    package static let behind: Int64 = 3_600_000
    /// How far it may be ahead, for hubs are off for a while: 30 days.
    package static let ahead: Int64 = 30 * 86_400_000
    /// After so long a run a calendar is believed whatever it says: seven days.
    package static let patience: Int64 = 7 * 86_400_000
    /// A log is young until its time has gone on by so much: a day.
    package static let youth: Int64 = 86_400_000
    /// For how long a hub has to run before the time catches up with what the calendar said, if it has not taken that back: two days.
    package static let confirmation: Int64 = 2 * 86_400_000
    /// How far it catches up at once: 60 days, so that a window of 90 is more than one such step away.
    package static let leap: Int64 = 60 * 86_400_000

    /// The clock of a new log.
    package init() { record = Record(time: 0, expected: 0, risen: 0) }

    /// The clock of a log, with what was stored of it.
    package init(_ stored: Record) {
        func number(_ value: Int64, upTo most: Int64 = RoomsLimits.number) -> Int64 { min(max(value, 0), most) }
        record = Record(time: number(stored.time), expected: number(stored.expected), risen: number(stored.risen, upTo: Self.youth))
        (record.doubted, record.candidate) = (number(stored.doubted, upTo: Self.patience), number(stored.candidate))
        record.stood = number(stored.stood, upTo: Self.confirmation)
    }

    /// Takes a reading.
    ///
    /// - Parameters:
    ///   - calendar: In milliseconds since 1970 UTC.
    ///   - ran: For how long the hub has run since it opened the log, in milliseconds.
    ///   - holdsNothing: Whether nothing is stored in the log: then a young one begins again with every reading.
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

    /// Something was forgotten by this time: it never goes back any more.
    package mutating func hasForgotten() { record.risen = Self.youth }

    private mutating func begin(with calendar: Int64) {
        doubt = nil
        (record.time, record.expected, record.doubted, record.candidate) = (calendar, calendar, 0, 0)
    }

    private mutating func distrust(_ doubt: Doubt) {
        self.doubt = doubt
        record.candidate = 0
    }

    /// Catches up with what the calendar said two days of running ago, unless it has taken that back.
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
