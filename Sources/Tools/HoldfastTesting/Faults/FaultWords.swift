import MachineCore

/// How the language of scripts writes times and sizes.
enum FaultWords {
    static let times: [(name: String, duration: Duration)] = [
        ("h", .seconds(3600)), ("m", .seconds(60)), ("s", .seconds(1)), ("ms", .milliseconds(1)), ("us", .microseconds(1)),
    ]
    static let sizes: [(name: String, bytes: Int)] = [
        ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000), ("B", 1),
    ]

    /// The largest unit that leaves no rest; below a microsecond, the rest is left out.
    static func time(_ duration: Duration) -> String {
        let microseconds = duration.withinScript.wholeMicroseconds
        if microseconds == 0 { return "0s" }
        for (name, unit) in [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000)] as [(String, Int64)]
        where microseconds.isMultiple(of: unit) {
            return "\(microseconds / unit)\(name)"
        }
        return "\(microseconds)us"
    }

    static func span(_ range: ClosedRange<Duration>) -> String {
        range.lowerBound == range.upperBound ? time(range.lowerBound) : "\(time(range.lowerBound))..\(time(range.upperBound))"
    }

    static func bytes(_ count: Int) -> String {
        for (name, unit) in sizes where count.isMultiple(of: unit) && count != 0 { return "\(count / unit)\(name)" }
        return "\(count)B"
    }

    static func bytes(_ range: ClosedRange<Int>) -> String {
        range.lowerBound == range.upperBound ? bytes(range.lowerBound) : "\(bytes(range.lowerBound))..\(bytes(range.upperBound))"
    }
}
