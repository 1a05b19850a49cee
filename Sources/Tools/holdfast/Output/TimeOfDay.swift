import Foundation

/// The local time of day, as it stands before a line.
enum TimeOfDay {
    /// Now, to the millisecond: `14:03:07.250`.
    static var now: String {
        let now = Date().timeIntervalSince1970
        var (seconds, fields) = (time_t(now), tm())
        localtime_r(&seconds, &fields)
        let nanoseconds = Int((now - now.rounded(.down)) * 1_000_000_000)
        return text(hour: Int(fields.tm_hour), minute: Int(fields.tm_min), second: Int(fields.tm_sec), nanosecond: nanoseconds)
    }

    static func text(hour: Int, minute: Int, second: Int, nanosecond: Int) -> String {
        "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2)).\(padded(nanosecond / 1_000_000, 3))"
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
