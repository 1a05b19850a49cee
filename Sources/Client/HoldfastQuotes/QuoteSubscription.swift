public import QuotesCore

/// Symbols that a ``QuoteFeed`` shows, until it is told to show them no more.
public struct QuoteSubscription: Hashable, Sendable {
    let id: Int64
    /// Which symbols.
    public let patterns: [SymbolPattern]
}

/// Why the server does not show what a subscription wants.
public struct QuoteRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// Why, in one word.
    public let code: QuotesRefusalCode
    /// Why, for logs; from the server.
    public let message: String

    /// A refusal, as a feed tells it; for tests of what hears of it.
    public init(code: QuotesRefusalCode, message: String) { (self.code, self.message) = (code, message) }

    /// Both.
    public var description: String { "\(code): \(message)" }
}

/// Why a subscription was not even asked for.
public struct InvalidSymbolPattern: Error, Hashable, Sendable, CustomStringConvertible {
    /// The pattern that no symbol can match; nil: there was none at all, or more than 100.
    public let pattern: String?

    /// An error, as a feed throws it; for tests of what hears of it.
    public init(pattern: String?) { self.pattern = pattern }

    /// What is wrong.
    public var description: String {
        pattern.map { "no symbol can match the pattern \($0.debugDescription)" } ?? "a subscription has 1 to 100 patterns"
    }
}
