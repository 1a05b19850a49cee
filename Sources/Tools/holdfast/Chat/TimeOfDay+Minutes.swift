import Foundation

extension TimeOfDay {
    /// The local time of a moment in milliseconds since 1970 UTC, such as `09:05`.
    static func minutes(of milliseconds: Int64) -> String {
        var (seconds, parts) = (time_t(milliseconds / 1000), tm())
        guard localtime_r(&seconds, &parts) != nil else { return "--:--" }
        return padded(parts.tm_hour) + ":" + padded(parts.tm_min)
    }

    private static func padded(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
