extension DoctorReport {
    /// The report for people; what the server sent cannot drive the terminal.
    func text(_ style: Style) -> String {
        var lines: [String] = []
        for topic in Finding.Topic.allCases {
            let own = findings.filter { $0.topic == topic }
            guard !own.isEmpty else { continue }
            if !lines.isEmpty { lines.append("") }
            lines.append(style.paint(topic.title, .prompt))
            for finding in own { lines += finding.lines(style) }
        }
        if !observations.unfinished.isEmpty {
            lines += ["", style.paint("Not seen", .prompt)]
            lines += observations.unfinished.map { "  - \($0.probe): \($0.why)".escapedOnOneLine }
        }
        return (lines + ["", style.paint(verdict, verdictPart)]).joined(separator: "\n") + "\n"
    }

    /// One line that says it all.
    var verdict: String {
        let (broken, warnings) = (count(.broken), count(.warning))
        let counts = [
            broken > 0 ? "\(broken == 1 ? "1 thing is" : "\(broken) things are") broken" : nil,
            warnings > 0 ? warnings.counted("warning") : nil,
        ].compactMap { $0 }.joined(separator: ", ")
        if isPartial { return "Stopped before the end" + (counts.isEmpty ? "." : ": so far \(counts).") }
        return isHealthy ? "Healthy" + (counts.isEmpty ? "." : ", with \(counts).") : "Not healthy: \(counts)."
    }

    private var verdictPart: Style.Part { count(.broken) > 0 ? .bad : isPartial || count(.warning) > 0 ? .note : .good }

    private func count(_ severity: Finding.Severity) -> Int { findings.count { $0.severity == severity } }
}

extension Finding {
    /// Its line, the facts behind it, and what to do.
    fileprivate func lines(_ style: Style) -> [String] {
        let (mark, part): (String, Style.Part) =
            switch severity {
            case .good: ("✓", .good)
            case .note: ("·", .dim)
            case .warning: ("!", .note)
            case .broken: ("✗", .bad)
            }
        var lines = ["  " + style.paint(mark, part) + " " + text.escapedOnOneLine]
        lines += details.map { "      " + style.paint($0.escapedOnOneLine, .dim) }
        if let advice { lines.append("    → " + style.paint(advice.escapedOnOneLine, .prompt)) }
        return lines
    }
}
