package import HoldfastTerminal

/// The result of an examination: the observations and the findings.
package struct DoctorReport: Encodable, Sendable {
    /// The version of the report's format; it changes when a name changes.
    let format = 1
    let url: String
    /// Whether nothing is broken.
    let isHealthy: Bool
    /// Whether the examination was stopped early.
    let isPartial: Bool
    package let exitStatus: Int32
    let findings: [Finding]
    let observations: Observations

    /// - Parameter stopped: The signal that stopped the examination early.
    init(_ observations: Observations, stopped: Outcome? = nil) {
        self.observations = observations
        url = observations.url
        findings = Diagnosis.findings(of: observations)
        // The first broken finding is the cause that keeps the rest from working.
        let worst = findings.first { $0.severity == .broken }
        isHealthy = worst == nil && stopped == nil
        isPartial = stopped != nil
        exitStatus = (stopped ?? worst?.topic.outcome ?? .clean).rawValue
    }

    /// The report as JSON with sorted keys; control sequences are escaped, and encoding cannot fail because all numbers are finite.
    package var json: String { (try? inPrettyJSON().escapedWithinJSONLines) ?? "{}" }

    /// Returns the report as text for people; control sequences from the server are escaped.
    package func text(_ style: Style) -> String {
        var lines: [String] = []
        for topic in Finding.Topic.allCases {
            let own = findings.filter { $0.topic == topic }
            guard !own.isEmpty else { continue }
            if !lines.isEmpty { lines.append("") }
            lines.append(style.paint(topic.title, .prompt))
            for finding in own { lines += finding.lines(style) }
        }
        if !observations.unfinished.isEmpty {
            lines += ["", style.paint("Not examined", .prompt)]
            lines += observations.unfinished.map { "  - \($0.probe): \($0.why)".escapedOnOneLine }
        }
        return (lines + ["", style.paint(verdict, verdictPart)]).joined(separator: "\n") + "\n"
    }

    /// The summary on one line.
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

/// One finding about a server.
struct Finding: Encodable, Hashable, Sendable {
    /// The severity of a finding.
    enum Severity: String, Encodable, Comparable, Sendable {
        /// Works as it should.
        case good
        /// Useful to know.
        case note
        /// Works, but may cause problems.
        case warning
        /// Does not work, or violates RFC 6455.
        case broken

        static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .good: 0
            case .note: 1
            case .warning: 2
            case .broken: 3
            }
        }
    }

    /// The topic of a finding; it also decides the exit status.
    enum Topic: String, Encodable, CaseIterable, Sendable {
        case network, tls, upgrade, surroundings, graphQL, engineIO, pings, messages, compression, limit, close, idle

        var title: String {
            switch self {
            case .network: "Network"
            case .tls: "TLS"
            case .upgrade: "Upgrade"
            case .surroundings: "On the way"
            case .graphQL: "GraphQL"
            case .engineIO: "Socket.IO"
            case .pings: "Pings"
            case .messages: "Messages"
            case .compression: "Compression"
            case .limit: "Message size"
            case .close: "Close"
            case .idle: "Idleness"
            }
        }

        /// The exit status if something in this topic is broken.
        var outcome: Outcome {
            switch self {
            case .network: .unreachable
            case .tls: .tls
            case .upgrade, .surroundings: .refused
            case .graphQL, .engineIO, .pings, .messages, .compression, .limit, .close, .idle: .violation
            }
        }
    }

    /// A stable name for programs, such as `pings.never`.
    let id: String
    let topic: Topic
    let severity: Severity
    let text: String
    /// The facts behind the finding, one per line.
    var details: [String] = []
    /// The recommended action.
    var advice: String?

    init(_ topic: Topic, _ name: String, _ severity: Severity, _ text: String, details: [String] = [], advice: String? = nil) {
        (self.topic, self.severity, self.text, self.details, self.advice) = (topic, severity, text, details, advice)
        id = "\(topic.rawValue).\(name)"
    }

    /// Returns the line of the finding, the facts behind it, and the advice.
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
