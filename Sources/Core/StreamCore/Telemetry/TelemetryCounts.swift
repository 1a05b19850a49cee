/// What became of recorded values: each is counted as recorded, and at any time in exactly one of the others.
public struct TelemetryCounts: Hashable, Sendable {
    /// How many were recorded.
    public var recorded = 0
    /// How many wait for their batch.
    public var waiting = 0
    /// How many are in the batch on its way.
    public var leaving = 0
    /// How many left: the socket took every byte of them.
    public var sent = 0
    /// How many a connection had taken when it was lost: they may have arrived or not, and are not sent again.
    public var uncertain = 0
    /// How many were left out because the link did not keep up.
    public var sampled = 0
    /// How many gave way for want of room, or were left over at the end.
    public var dropped = 0
    /// How many could not be encoded.
    public var unencodable = 0

    /// Nothing so far.
    public init() {}
}
