import Foundation

/// The results of a run: `ok NAME` or `not ok NAME: why` per check, and `figure NAME VALUE` per figure.
actor Findings {
    private(set) var failures = 0

    /// A check that passes without problems.
    func check(_ name: String, _ problems: [String]) {
        if problems.isEmpty {
            say("ok \(name)")
        } else {
            failures += 1
            let rest = problems.count > 5 ? "; and \(problems.count - 5) more" : ""
            say("not ok \(name): \(problems.prefix(5).joined(separator: "; "))\(rest)")
        }
    }

    func figure(_ name: String, _ value: Any) { say("figure \(name) \(value)") }

    /// The median, the 99th percentile and the maximum, in milliseconds.
    func figure(_ name: String, times: [Duration]) {
        let sorted = times.map { Int($0 / .milliseconds(1)) }.sorted()
        guard let last = sorted.last else { return }
        say("figure \(name) \(sorted[sorted.count / 2])/\(sorted[sorted.count * 99 / 100])/\(last)")
    }

    private func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}

/// Waits until a condition is true.
///
/// Throws after a time that is long on any machine.
func eventually(_ what: String, within limit: Duration = .seconds(60), _ condition: () async -> Bool) async throws {
    let end = ContinuousClock.now + limit
    while await !condition() {
        guard ContinuousClock.now < end else { throw Suite.Failure(description: "\(what): not within \(limit)") }
        try await Task.sleep(for: .milliseconds(2))
    }
}
