/// What the feed of one client has sent.
package struct FeedCounts: Hashable, Sendable {
    /// Parts of snapshots, and messages of ticks.
    package var messages: UInt64 = 0
    /// Quotes in snapshots.
    package var quotes: UInt64 = 0
    /// Changes that were sent.
    package var ticks: UInt64 = 0
    /// Changes that were overwritten before they could be sent.
    package var conflated: UInt64 = 0
    /// How often the client has lost something.
    package var resyncs: UInt64 = 0
    /// Requests that were not fulfilled.
    package var refused: UInt64 = 0

    package init() {}
}
