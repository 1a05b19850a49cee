extension Int {
    /// This number with a comma before every three digits: `1,234,567`.
    var grouped: String {
        let digits = String(magnitude)
        let groups = digits.enumerated().map { index, digit in
            index > 0 && (digits.count - index).isMultiple(of: 3) ? ",\(digit)" : "\(digit)"
        }
        return (self < 0 ? "-" : "") + groups.joined()
    }

    /// This number of microseconds, as a latency: `42 µs`, `1.25 ms`, `60 s or more`.
    var latencyPhrase: String {
        if self >= Latencies.longest { return "60 s or more" }
        return self < 1000 ? "\(self) µs" : Duration.microseconds(self).phrase
    }

    /// This number of bytes, to three figures: `512 B`, `1.5 KiB`, `20 MiB`.
    var bytesPhrase: String {
        var value = Double(self)
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if value < 1000 { return "\(Self.figures(value)) \(unit)" }
            value /= 1024
        }
        return "\(Self.figures(value)) TiB"
    }

    private static func figures(_ value: Double) -> String {
        let decimals = value < 10 ? 100.0 : value < 100 ? 10.0 : 1.0
        let rounded = (value * decimals).rounded() / decimals
        return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }
}
