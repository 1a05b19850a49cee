import Foundation

/// What was seen, and what follows from it.
struct DoctorReport: Encodable, Sendable {
    /// The format of this report; another number when a name changes.
    let format = 1
    let url: String
    /// Whether nothing is broken.
    let isHealthy: Bool
    /// Whether it was stopped before its end.
    let isPartial: Bool
    let exitStatus: Int32
    let findings: [Finding]
    let observations: Observations

    /// - Parameter stopped: What stopped it before its end.
    init(_ observations: Observations, stopped: Outcome? = nil) {
        self.observations = observations
        url = observations.url
        findings = Diagnosis.findings(of: observations)
        // The first thing that is broken is what keeps the rest from working.
        let worst = findings.first { $0.severity == .broken }
        isHealthy = worst == nil && stopped == nil
        isPartial = stopped != nil
        exitStatus = (stopped ?? worst?.topic.outcome ?? .clean).rawValue
    }

    /// This report as JSON, its keys in order; nothing in it can drive a terminal.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Nothing here fails to encode: numbers are finite, and the rest is text.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self).escapedWithinJSONLines } ?? "{}"
    }
}
