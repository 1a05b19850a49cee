/// The time of a log, by which it forgets: no single reading of a calendar moves it far.
///
/// It goes on only as long as a hub runs, and a bounded step with each start. So a calendar that is wrong has to be wrong for days of running
/// before anything is forgotten for it. A calendar that is far from where it should be is not believed at all for a week: it is followed for
/// all else, and nothing is forgotten meanwhile.
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
    /// The log's time, in milliseconds since 1970 UTC, never ahead of what a calendar has said; 0: none yet.
    package private(set) var time: Int64
    /// What the calendar should say, by the last reading that was believed; 0: none yet.
    package private(set) var expected: Int64
    /// Why nothing is forgotten; nil: all is well.
    package private(set) var doubt: Doubt?
    /// How long the hub had run at the last reading; nil before the first.
    private var ran: Int64?
    /// For how long the hub has run in doubt.
    private var doubted: Int64 = 0

    /// How far a start moves the time at most, in milliseconds: an hour.
    package static let step: Int64 = 3_600_000
    /// How far a calendar may be behind where it should be: an hour.
    package static let behind: Int64 = 3_600_000
    /// How far it may be ahead, for hubs are off for a while: 30 days.
    package static let ahead: Int64 = 30 * 86_400_000
    /// After so long a run a calendar is believed whatever it says: seven days.
    package static let patience: Int64 = 7 * 86_400_000

    /// The clock of a log, with what was stored of it; 0 is a new one.
    package init(time: Int64 = 0, expected: Int64 = 0) {
        let most = RoomsLimits.number
        (self.time, self.expected) = (min(max(time, 0), most), min(max(expected, 0), most))
    }

    /// Takes a reading.
    ///
    /// - Parameters:
    ///   - calendar: In milliseconds since 1970 UTC.
    ///   - ran: For how long the hub has run since it opened the log, in milliseconds.
    package mutating func read(calendar: Int64, ran: Int64) {
        let calendar = min(max(calendar, 0), RoomsLimits.number)
        let isFirst = self.ran == nil
        let passed = min(max(ran - (self.ran ?? ran), 0), Self.patience)
        self.ran = ran
        guard max(time, expected) > 0 else { return (time, expected) = (calendar, calendar) }
        expected = min(expected + passed, RoomsLimits.number)
        doubted = doubt == nil ? 0 : doubted + passed
        if doubted < Self.patience {
            if calendar < expected - Self.behind { return doubt = .behind(expected - calendar) }
            if calendar > expected + Self.ahead { return doubt = .ahead(calendar - expected) }
        }
        (doubt, expected) = (nil, calendar)
        time = max(time, min(calendar, time + (isFirst ? Self.step : passed)))
    }
}
