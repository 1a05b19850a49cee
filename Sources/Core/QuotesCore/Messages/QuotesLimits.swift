/// What one side takes from the other at most; see docs/quotes-protocol.md.
package enum QuotesLimits {
    /// Symbols of a market.
    package static let symbols = 100_000
    /// Bytes of a message from a client.
    package static let requestBytes = 16 * 1024
    /// Subscriptions of a connection: as many as a word has bits.
    package static let subscriptions = 64
    /// Patterns of one subscription.
    package static let patterns = 100
    /// Updates a second.
    package static let rate: Int64 = 1000
    /// Errors that a client has not read.
    package static let unreadErrors = 16
    /// Quotes in a part of a snapshot, as sent.
    package static let quotesSent = 200
    /// How often a symbol is compared with a pattern for a part of a snapshot.
    package static let patternsTried = 20_000
    /// Ticks in a message, as sent.
    package static let ticksSent = 1000
    /// Quotes or ticks in a message, as read.
    package static let entriesRead = 10_000
    /// How long a server says nothing to a client that is subscribed.
    package static let beat = Duration.seconds(5)
    /// The largest id of a subscription.
    package static let subscriptionID: Int64 = (1 << 32) - 1
}
