/// What a message says about another.
public struct Reference: Hashable, Sendable {
    /// What it does to it, 1 to 64 bytes: `edit`, `delete`, `react`, or the app's own.
    public var kind: String
    /// The number of the other in the same epoch.
    public var seq: Int64

    /// A message about another.
    public init(kind: String, seq: Int64) { (self.kind, self.seq) = (kind, seq) }
}
