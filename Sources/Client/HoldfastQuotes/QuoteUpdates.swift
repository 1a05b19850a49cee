import MachineCore
import HoldfastProtocols

/// What changes of the quotes of a ``QuoteFeed``; see ``QuoteFeed/updates(atMost:)``.
///
/// It ends with the feed; ``QuoteFeed/closure`` tells why. The sequence keeps the feed alive.
public struct QuoteUpdates: AsyncSequence, Sendable {
    /// All that has changed since the update before.
    public typealias Element = QuoteUpdate
    /// The sequence never fails.
    public typealias Failure = Never
    let feed: QuoteFeed
    let interval: Duration?

    /// Starts to take updates.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: QuoteReader(feed), interval: interval) }

    /// Takes updates one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let reader: QuoteReader
        let interval: Duration?
        private var nextUpdate = Moment.start

        init(reader: QuoteReader, interval: Duration?) { (self.reader, self.interval) = (reader, interval) }

        /// Waits for the next update; nil after the last, or when the task is cancelled.
        public mutating func next() async -> QuoteUpdate? { await next(isolation: nil) }

        /// Waits for the next update; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> QuoteUpdate? {
            let time = reader.feed.shell.time
            while await reader.hasChanges() {
                // Whatever changes meanwhile comes along.
                if let interval {
                    if time.now() < nextUpdate, (try? await time.sleep(nextUpdate)) == nil { return nil }
                    nextUpdate = time.now() + interval
                }
                let update = reader.take()
                // What came and went since the last time is nothing to show.
                if !update.quotes.isEmpty || !update.removed.isEmpty { return update }
            }
            return nil
        }
    }
}
