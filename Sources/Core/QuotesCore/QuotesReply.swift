/// A message from the server; see docs/quotes-protocol.md.
///
/// Only the types have been checked.
package enum QuotesReply: Hashable, Sendable {
    case welcome(Welcome)
    case snapshot(SnapshotPart)
    case ticks(Ticks)
    case refusal(Refusal)

    /// The first message of a connection.
    package struct Welcome: Hashable, Sendable {
        package static let currentVersion: Int64 = 1

        package var version: Int64 = currentVersion
        /// The run of the market.
        package var market: Int64
        /// The number of symbols.
        package var symbols: Int64

        package init(version: Int64 = currentVersion, market: Int64, symbols: Int64) {
            (self.version, self.market, self.symbols) = (version, market, symbols)
        }
    }

    /// A complete quote of a symbol.
    package struct FullQuote: Hashable, Sendable {
        package var symbol: UInt32
        package var name: String
        package var state: QuoteState

        package init(symbol: UInt32, name: String, state: QuoteState) { (self.symbol, self.name, self.state) = (symbol, name, state) }
    }

    /// Complete quotes of some symbols of a subscription.
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

    /// A change of one symbol.
    package struct Tick: Hashable, Sendable {
        package var symbol: UInt32
        package var fields: QuoteFields
        package var version: Int64
        /// The differences from the state sent last; 0 for fields that are not in ``fields``.
        package var differences: QuoteFigures

        package init(symbol: UInt32, version: Int64, fields: QuoteFields, differences: QuoteFigures) {
            (self.symbol, self.version, self.fields, self.differences) = (symbol, version, fields, differences)
        }
    }

    /// Changes of some symbols.
    package struct Ticks: Hashable, Sendable {
        package var sequence: Int64
        /// How many unsent changes these overwrite.
        package var conflated: Int64
        package var ticks: [Tick]

        package init(sequence: Int64, conflated: Int64 = 0, ticks: [Tick]) {
            (self.sequence, self.conflated, self.ticks) = (sequence, conflated, ticks)
        }
    }

    /// A refused request.
    package struct Refusal: Hashable, Sendable {
        package var id: Int64?
        package var code: QuotesRefusalCode
        package var message: String

        package init(id: Int64? = nil, code: QuotesRefusalCode, message: String) {
            (self.id, self.code, self.message) = (id, code, message)
        }
    }
}

/// A message from the client; see docs/quotes-protocol.md.
///
/// Only the types have been checked.
package enum QuotesRequest: Hashable, Sendable {
    /// Show these symbols, with at most `rate` updates per second; nil keeps the previous limit, 0 removes it.
    case subscribe(id: Int64, symbols: [String], rate: Int64?)
    /// Stop showing the symbols of this subscription.
    case unsubscribe(id: Int64)
    /// Data was lost: send everything again, with this number.
    case resync(round: Int64)
}

/// Why a server refused a request.
///
/// Later servers may use other codes.
public struct QuotesRefusalCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The code in its wire form.
    public let rawValue: String

    /// Creates a code from its wire form.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The request could not be decoded, or a value is out of range.
    public static let badRequest = QuotesRefusalCode(rawValue: "bad_request")
    /// A pattern is empty, longer than 32 characters, or has a character that no symbol can have.
    public static let badPattern = QuotesRefusalCode(rawValue: "bad_pattern")
    /// More than 100 patterns in one subscription.
    public static let tooManyPatterns = QuotesRefusalCode(rawValue: "too_many_patterns")
    /// More than 64 subscriptions at once.
    public static let tooManySubscriptions = QuotesRefusalCode(rawValue: "too_many_subscriptions")
    /// The subscription to end does not exist.
    public static let unknownSubscription = QuotesRefusalCode(rawValue: "unknown_subscription")

    /// The code in its wire form.
    public var description: String { rawValue }
}

/// The limits of the protocol; see docs/quotes-protocol.md.
package enum QuotesLimits {
    /// The number of symbols of a market.
    package static let symbols = 100_000
    /// The size of a message from a client, in bytes.
    package static let requestBytes = 16 * 1024
    /// The number of subscriptions of a connection; one for each bit of a word.
    package static let subscriptions = 64
    /// The number of patterns of one subscription.
    package static let patterns = 100
    /// The number of updates per second.
    package static let rate: Int64 = 1000
    /// The number of errors that a client has not read.
    package static let unreadErrors = 16
    /// The number of quotes in a part of a snapshot, when sending.
    package static let quotesSent = 200
    /// The number of comparisons of a symbol with a pattern for one part of a snapshot.
    package static let patternsTried = 20_000
    /// The number of ticks in a message, when sending.
    package static let ticksSent = 1000
    /// The number of quotes or ticks in a message, when reading.
    package static let entriesRead = 10_000
    /// The longest silence of a server towards a client with a subscription.
    package static let beat = Duration.seconds(5)
    /// The largest subscription id.
    package static let subscriptionID: Int64 = (1 << 32) - 1
}
