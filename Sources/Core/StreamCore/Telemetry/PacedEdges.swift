/// Which values of a burst are sent.
public enum PacedEdges: Hashable, Sendable, CaseIterable {
    /// The first, at once.
    case leading
    /// The last, when it is time.
    case trailing
    /// The first at once, and the last when it is time, if that is another.
    case both

    var hasLeading: Bool { self != .trailing }
    var hasTrailing: Bool { self != .leading }
}
