/// What a server tells; see docs/quotes-protocol.md.
///
/// Nothing is checked yet but the types.
package enum QuotesReply: Hashable, Sendable {
    case welcome(Welcome)
    case snapshot(SnapshotPart)
    case ticks(Ticks)
    case refusal(Refusal)

    /// The first message of a connection.
    package struct Welcome: Hashable, Sendable {
        package static let currentVersion: Int64 = 1

        package var version: Int64 = currentVersion
        /// Which run of the market it is.
        package var market: Int64
        /// How many symbols there are.
        package var symbols: Int64

        package init(version: Int64 = currentVersion, market: Int64, symbols: Int64) {
            (self.version, self.market, self.symbols) = (version, market, symbols)
        }
    }

    /// A symbol in full.
    package struct FullQuote: Hashable, Sendable {
        package var symbol: UInt32
        package var name: String
        package var state: QuoteState

        package init(symbol: UInt32, name: String, state: QuoteState) { (self.symbol, self.name, self.state) = (symbol, name, state) }
    }

    /// Some symbols of a subscription in full.
    package struct SnapshotPart: Hashable, Sendable {
        package var id: Int64
        package var sequence: Int64
        package var round: Int64
        package var isLast: Bool
        package var quotes: [FullQuote]

        package init(id: Int64, sequence: Int64, round: Int64, isLast: Bool, quotes: [FullQuote]) {
            (self.id, self.sequence, self.round, self.isLast, self.quotes) = (id, sequence, round, isLast, quotes)
        }
    }

    /// What has changed of one symbol.
    package struct Tick: Hashable, Sendable {
        package var symbol: UInt32
        package var fields: QuoteFields
        package var version: Int64
        /// What is to be added to what was sent last; 0 where a field is not among ``fields``.
        package var differences: QuoteFigures

        package init(symbol: UInt32, version: Int64, fields: QuoteFields, differences: QuoteFigures) {
            (self.symbol, self.version, self.fields, self.differences) = (symbol, version, fields, differences)
        }
    }

    /// What has changed of some symbols.
    package struct Ticks: Hashable, Sendable {
        package var sequence: Int64
        /// How many changes these overwrite that were never sent.
        package var conflated: Int64
        package var ticks: [Tick]

        package init(sequence: Int64, conflated: Int64 = 0, ticks: [Tick]) {
            (self.sequence, self.conflated, self.ticks) = (sequence, conflated, ticks)
        }
    }

    /// What the server did not do.
    package struct Refusal: Hashable, Sendable {
        package var id: Int64?
        package var code: QuotesRefusalCode
        package var message: String

        package init(id: Int64? = nil, code: QuotesRefusalCode, message: String) {
            (self.id, self.code, self.message) = (id, code, message)
        }
    }
}

/// What a client asks for; see docs/quotes-protocol.md.
///
/// Nothing is checked yet but the types.
package enum QuotesRequest: Hashable, Sendable {
    /// Show these symbols, at most `rate` updates a second; nil: as before, 0: without limit.
    case subscribe(id: Int64, symbols: [String], rate: Int64?)
    /// Show those of this subscription no more.
    case unsubscribe(id: Int64)
    /// Something was lost: send everything in full again, with this number.
    case resync(round: Int64)
}

/// Why a server did not do what a client asked for; a later server may have more.
public struct QuotesRefusalCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// As it is on the wire.
    public let rawValue: String

    /// A code, as it is on the wire.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Not to be decoded, or a value out of its range.
    public static let badRequest = QuotesRefusalCode(rawValue: "bad_request")
    /// A pattern is empty, longer than 32 characters, or has a character that no symbol has.
    public static let badPattern = QuotesRefusalCode(rawValue: "bad_pattern")
    /// More than 100 patterns in one subscription.
    public static let tooManyPatterns = QuotesRefusalCode(rawValue: "too_many_patterns")
    /// More than 64 subscriptions at once.
    public static let tooManySubscriptions = QuotesRefusalCode(rawValue: "too_many_subscriptions")
    /// An end to a subscription that there is not.
    public static let unknownSubscription = QuotesRefusalCode(rawValue: "unknown_subscription")

    /// As it is on the wire.
    public var description: String { rawValue }
}

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
