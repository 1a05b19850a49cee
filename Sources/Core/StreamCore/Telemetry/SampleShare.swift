/// How many of a series of values are kept: parts of 1024, at least one.
public struct SampleShare: Hashable, Comparable, Sendable {
    /// What stands for all.
    public static let denominator = 1024
    /// All of them.
    public static let all = SampleShare(parts: denominator)

    /// How many of 1024.
    public let parts: Int

    /// So many of 1024; at least one, and no more than all.
    public init(parts: Int) { self.parts = min(max(parts, 1), Self.denominator) }

    /// One of so many.
    public static func oneOf(_ count: Int) -> SampleShare { SampleShare(parts: denominator / max(count, 1)) }

    /// Between 0 and 1.
    public var fraction: Double { Double(parts) / Double(Self.denominator) }

    /// Whether `lhs` keeps less than `rhs`.
    public static func < (lhs: SampleShare, rhs: SampleShare) -> Bool { lhs.parts < rhs.parts }
}

/// Keeps a share of a series evenly and without chance: of any m values in a row the share of m, rounded up or down.
///
/// The first value is always kept. After a change of the share the promise holds for what comes from there on.
public struct EvenSampler: Hashable, Sendable {
    /// How much of a value is owed, in parts; less than a whole one.
    private var credit = SampleShare.denominator - 1

    /// A sampler that has seen nothing.
    public init() {}

    /// Whether the next value is kept.
    public mutating func keeps(_ share: SampleShare) -> Bool {
        credit += share.parts
        guard credit >= SampleShare.denominator else { return false }
        credit -= SampleShare.denominator
        return true
    }
}
