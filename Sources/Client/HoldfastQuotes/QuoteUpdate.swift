public import QuotesCore

/// What is to be shown anew.
public struct QuoteUpdate: Hashable, Sendable {
    /// The newest of each symbol that has changed since the update before, in the order of their first change; at first, all there are.
    ///
    /// Also those that have only become old or current again: see ``Quote/isCurrent``.
    public var quotes: [Quote] = []
    /// The symbols that are no longer wanted, or no longer known.
    public var removed: [String] = []

    /// An update, as a feed tells it; for tests of what hears of it.
    public init(quotes: [Quote] = [], removed: [String] = []) { (self.quotes, self.removed) = (quotes, removed) }
}
