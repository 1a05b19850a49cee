/// What a checker found.
public struct HistoryVerdict: Hashable, Sendable, CustomStringConvertible {
    /// Each broken promise, in words.
    public var violations: [String] = []
    /// How often things happened, by their names.
    public var counts: [String: Int64] = [:]

    /// Whether every promise was kept.
    public var isClean: Bool { violations.isEmpty }

    /// For people: the violations, or that there are none, and the counts.
    public var description: String {
        let found = violations.isEmpty ? "no violation" : violations.joined(separator: "\n")
        let figures = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        return figures.isEmpty ? found : "\(found)\n\(figures)"
    }
}
