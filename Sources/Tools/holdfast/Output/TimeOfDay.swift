import Foundation

/// The local time of day, as printed before a line.
enum TimeOfDay {
    /// The current time, to the millisecond: `14:03:07.250`.
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

    /// Returns the local time of a moment in milliseconds since 1970 UTC, such as `09:05`.
    static func minutes(of milliseconds: Int64) -> String {
        var (seconds, parts) = (time_t(milliseconds / 1000), tm())
        guard localtime_r(&seconds, &parts) != nil else { return "--:--" }
        return padded(parts.tm_hour) + ":" + padded(parts.tm_min)
    }

    private static func padded(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
}

extension Duration {
    /// The duration in milliseconds.
    var milliseconds: Double { Double(components.seconds) * 1e3 + Double(components.attoseconds) / 1e15 }

    /// The duration with three significant digits and a unit: `0.42 ms`, `12.3 ms`, `1.25 s`.
    var phrase: String {
        milliseconds >= 1000 ? (milliseconds / 1000).inThreeFigures + " s" : milliseconds.inThreeFigures + " ms"
    }

    /// The duration in seconds with three decimals, right-aligned in eight columns, for a timeline.
    var timelineColumn: String {
        let total = Int(milliseconds.rounded())
        let thousandths = String(total % 1000)
        let text = "\(total / 1000)." + String(repeating: "0", count: max(0, 3 - thousandths.count)) + thousandths
        return String(repeating: " ", count: max(0, 6 - text.count)) + text + " s"
    }
}

extension Double {
    /// The number with three significant digits: `0.42`, `12.3`, `125`.
    var inThreeFigures: String {
        let decimals = self < 10 ? 100.0 : self < 100 ? 10.0 : 1.0
        let rounded = (self * decimals).rounded() / decimals
        return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }
}

extension Int {
    /// Returns the count with its noun: `1 byte`, `2 bytes`.
    func counted(_ noun: String) -> String { self == 1 ? "1 \(noun)" : "\(self) \(noun)s" }
}
