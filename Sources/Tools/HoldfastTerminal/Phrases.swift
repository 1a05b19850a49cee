extension Duration {
    /// The duration in milliseconds.
    package var milliseconds: Double { Double(components.seconds) * 1e3 + Double(components.attoseconds) / 1e15 }

    /// The duration with three significant digits and a unit: `0.42 ms`, `12.3 ms`, `1.25 s`.
    package var phrase: String {
        milliseconds >= 1000 ? (milliseconds / 1000).inThreeFigures + " s" : milliseconds.inThreeFigures + " ms"
    }

    /// The duration in seconds with three decimals, right-aligned in eight columns, for a timeline.
    package var timelineColumn: String {
        let total = Int(milliseconds.rounded())
        let thousandths = String(total % 1000)
        let text = "\(total / 1000)." + String(repeating: "0", count: max(0, 3 - thousandths.count)) + thousandths
        return String(repeating: " ", count: max(0, 6 - text.count)) + text + " s"
    }
}

extension Double {
    /// The number with three significant digits: `0.42`, `12.3`, `125`.
    package var inThreeFigures: String {
        let decimals = self < 10 ? 100.0 : self < 100 ? 10.0 : 1.0
        let rounded = (self * decimals).rounded() / decimals
        return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }
}

extension Int {
    /// Returns the count with its noun: `1 byte`, `2 bytes`.
    package func counted(_ noun: String) -> String { self == 1 ? "1 \(noun)" : "\(self) \(noun)s" }

    /// The number with a comma before every three digits: `1,234,567`.
    package var grouped: String {
        let digits = String(magnitude)
        let groups = digits.enumerated().map { index, digit in
            index > 0 && (digits.count - index).isMultiple(of: 3) ? ",\(digit)" : "\(digit)"
        }
        return (self < 0 ? "-" : "") + groups.joined()
    }

    /// The number of bytes with three significant digits: `512 B`, `1.5 KiB`, `20 MiB`.
    package var bytesPhrase: String {
        var value = Double(self)
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if value < 1000 { return "\(value.inThreeFigures) \(unit)" }
            value /= 1024
        }
        return "\(value.inThreeFigures) TiB"
    }
}

extension String {
    package func paddedLeft(to width: Int) -> String { String(repeating: " ", count: Swift.max(0, width - count)) + self }
    package func paddedRight(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }
}
