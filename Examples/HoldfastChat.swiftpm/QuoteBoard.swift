import HoldfastQuotes
import Observation
import QuotesCore

/// The newest quotes, for a screen.
@MainActor @Observable final class QuoteBoard {
    private(set) var quotes: [Quote] = []
    private(set) var problem: String?
    @ObservationIgnored private let feed: QuoteFeed

    init(_ feed: QuoteFeed) { self.feed = feed }

    /// Follows the market until cancelled; while nobody follows, nothing is drawn.
    func follow() async {
        do {
            let subscription = try feed.subscribe("*")
            defer { feed.unsubscribe(subscription) }
            for await _ in feed.updates(atMost: 10) { quotes = feed.quotes }
        } catch {
            problem = "\(error)"
        }
    }
}
