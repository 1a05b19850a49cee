/// How TCP tells the two sides that a connection is cut.
public enum LinkEnding: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// As an end of the stream. If bytes lie unread TCP makes a reset of it.
    case fin
    /// As an error, at once; what came just before may be lost as well.
    case rst

    /// `fin` or `rst`.
    public var description: String { rawValue }
}
