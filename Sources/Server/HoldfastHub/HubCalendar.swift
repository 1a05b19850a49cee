import Foundation

/// What the wall clock says.
enum HubCalendar {
    /// In milliseconds since 1970 UTC.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
