#if canImport(SwiftUI)
    import Foundation

    /// Formats times for the reader's locale and time zone.
    enum ChatTime {
        /// The calendar in the reader's time zone.
        static let calendar = ChatCalendar {
            TimeZone.autoupdatingCurrent.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0)))
        }

        /// Returns the time of day, such as 12:04.
        static func clock(_ time: Int64) -> String { date(time).formatted(.dateTime.hour().minute()) }

        /// Returns the name of a day relative to now.
        static func day(_ time: Int64, at now: Date, _ words: Words) -> String {
            switch calendar.name(of: time, at: Int64(now.timeIntervalSince1970 * 1000)) {
            case .today: words(.today)
            case .yesterday: words(.yesterday)
            case .weekday: date(time).formatted(.dateTime.weekday(.wide))
            case .date: date(time).formatted(.dateTime.day().month(.wide))
            case .dateAndYear: date(time).formatted(.dateTime.day().month(.wide).year())
            }
        }

        private static func date(_ time: Int64) -> Date { Date(timeIntervalSince1970: Double(ChatCalendar.shown(time)) / 1000) }
    }
#endif
