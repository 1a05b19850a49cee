/// The result of a checker.
public struct HistoryVerdict: Hashable, Sendable, CustomStringConvertible {
    /// Each broken guarantee, in words.
    public var violations: [String] = []
    /// The number of each counted event, by its name.
    public var counts: [String: Int64] = [:]

    /// Whether every guarantee was kept.
    public var isClean: Bool { violations.isEmpty }

    /// A text for people: the violations, or that there are none, and the counts.
    public var description: String {
        let found = violations.isEmpty ? "no violation" : violations.joined(separator: "\n")
        let figures = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return figures.isEmpty ? found : "\(found)\n\(figures)"
    }
}
