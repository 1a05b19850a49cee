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
