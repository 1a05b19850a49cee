import MachineCore
import WebSocketRuntime
import QuotesCore

/// One client of the market: its feed, and the bell that says that the feed may have something to say.
final class QuotesVisitor: Sendable {
    private let feed: LockedValue<Feed>
    /// Rings once for any number of causes.
    let bell: AsyncStream<Void>
    private let rope: AsyncStream<Void>.Continuation

    init(_ feed: Feed) {
        self.feed = LockedValue(feed)
        (bell, rope) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        rope.yield()
    }

    /// Hears which symbols have changed; to be called in every beat, for a feed may have waited for its time.
    func note(_ changed: [Int]) {
        feed.withLockedValue { feed in
            for symbol in changed { feed.note(changed: symbol) }
        }
        rope.yield()
    }

    /// Hears what its client asks for, nil for what cannot be read; false if that is nonsense without an end.
    func receive(_ request: QuotesRequest?) -> Bool {
        defer { rope.yield() }
        return feed.withLockedValue { feed in
            if let request { feed.receive(request) } else { feed.receiveMalformed("this is no message of the protocol") }
            return !feed.isAbused
        }
    }

    /// What goes out next.
    ///
    /// The table is read only when no change can be noted: one from before a change that the feed knows of would lose it.
    func next(from floor: MarketFloor) -> QuotesReply? {
        feed.withLockedValue { $0.next(from: floor.table, at: floor.now) }
    }

    var counts: FeedCounts { feed.withLockedValue { $0.counts } }
}
