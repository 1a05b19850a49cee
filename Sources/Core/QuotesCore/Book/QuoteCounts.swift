/// What a feed of quotes has seen so far, over all its connections.
public struct QuoteCounts: Hashable, Sendable {
    /// Connections that were opened.
    public var connections: UInt64 = 0
    /// Messages that were taken: parts of snapshots, and ticks.
    public var messages: UInt64 = 0
    /// Quotes that came in full.
    public var quotes: UInt64 = 0
    /// Changes that came.
    public var ticks: UInt64 = 0
    /// Changes that the server overwrote before it could send them, as it told.
    public var conflated: UInt64 = 0
    /// Quotes and ticks that were not newer than what was known, and so not shown.
    public var stale: UInt64 = 0
    /// Messages that had come before.
    public var duplicates: UInt64 = 0
    /// Holes in the sequence of messages.
    public var gaps: UInt64 = 0
    /// How often everything was asked for again, after a gap or garbage.
    public var resyncs: UInt64 = 0
    /// Messages that could not be trusted.
    public var garbage: UInt64 = 0

    /// Nothing yet.
    public init() {}
}
