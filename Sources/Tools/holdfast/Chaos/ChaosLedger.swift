import HoldfastTesting

/// Says what the link does to its connections, and counts it.
actor ChaosLedger {
    private let style: Style
    private let isQuiet: Bool
    private let start = ContinuousClock.now
    private var counts: [Fault.Kind: Int] = [:]

    init(style: Style, isQuiet: Bool) { (self.style, self.isQuiet) = (style, isQuiet) }

    func note(_ planned: PlannedFault) {
        if !planned.isEnd { counts[planned.fault.kind, default: 0] += 1 }
        say(planned.description, planned.isEnd ? .good : .bad)
    }

    func say(_ text: String, _ part: Style.Part) {
        guard !isQuiet else { return }
        StandardOutput.write(style.paint(start.duration(to: .now).timelineColumn, .dim) + "  " + style.paint(text, part) + "\n")
    }

    /// Prints the totals.
    func finish(_ link: FaultyLink) {
        for line in Self.summary(accepted: link.accepted, up: link.carried(.up), down: link.carried(.down), counts) {
            StandardOutput.write(line + "\n")
        }
    }

    /// What was carried and done, one fact to a line.
    static func summary(accepted: Int, up: Int, down: Int, _ counts: [Fault.Kind: Int]) -> [String] {
        let faults = Fault.Kind.allCases.compactMap { kind in counts[kind].map { "\(kind.rawValue) \($0)" } }
        return [
            "connections  \(accepted)", "bytes        \(up) up, \(down) down",
            "faults       " + (faults.isEmpty ? "none" : faults.joined(separator: ", ")),
        ]
    }
}
