import Foundation

/// The local time of day, as printed before a line.
package enum TimeOfDay {
    /// The current time, to the millisecond: `14:03:07.250`.
    package static var now: String {
        let now = Date().timeIntervalSince1970
        var (seconds, fields) = (time_t(now), tm())
        localtime_r(&seconds, &fields)
        let nanoseconds = Int((now - now.rounded(.down)) * 1_000_000_000)
        return text(hour: Int(fields.tm_hour), minute: Int(fields.tm_min), second: Int(fields.tm_sec), nanosecond: nanoseconds)
    }

    package static func text(hour: Int, minute: Int, second: Int, nanosecond: Int) -> String {
        "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2)).\(padded(nanosecond / 1_000_000, 3))"
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// Returns the local time of a moment in milliseconds since 1970 UTC, such as `09:05`.
    package static func minutes(of milliseconds: Int64) -> String {
        var (seconds, parts) = (time_t(milliseconds / 1000), tm())
        guard localtime_r(&seconds, &parts) != nil else { return "--:--" }
        return padded(parts.tm_hour) + ":" + padded(parts.tm_min)
    }

    private static func padded(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
