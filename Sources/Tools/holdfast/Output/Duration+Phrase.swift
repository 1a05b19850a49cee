extension Duration {
    /// This duration in milliseconds.
    var milliseconds: Double { Double(components.seconds) * 1e3 + Double(components.attoseconds) / 1e15 }

    /// Three figures and a unit: `0.42 ms`, `12.3 ms`, `1.25 s`.
    var phrase: String {
        let value = milliseconds
        if value >= 1000 { return Self.figures(value / 1000) + " s" }
        return Self.figures(value) + " ms"
    }

    /// Seconds with three decimals, right-aligned in eight columns, as a timeline shows them.
    var timelineColumn: String {
        let total = Int(milliseconds.rounded())
        let thousandths = String(total % 1000)
        let text = "\(total / 1000)." + String(repeating: "0", count: max(0, 3 - thousandths.count)) + thousandths
        return String(repeating: " ", count: max(0, 6 - text.count)) + text + " s"
    }

    private static func figures(_ value: Double) -> String {
        let decimals = value < 10 ? 100.0 : value < 100 ? 10.0 : 1.0
        let rounded = (value * decimals).rounded() / decimals
        return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }
}

extension Int {
    /// This count with its noun: `1 byte`, `2 bytes`.
    func counted(_ noun: String) -> String { self == 1 ? "1 \(noun)" : "\(self) \(noun)s" }
}
