import WebSocketRuntime
import StreamCore

/// Counts what became of values.
protocol CountedDelivery: AnyObject, Sendable {
    var counts: DeliveryCounts { get }
}

/// What became of the values of several consumers: of one stream, or of all of a socket.
final class DeliveryLedger: Sendable {
    private struct State {
        var live: [ObjectIdentifier: any CountedDelivery] = [:]
        var ended = DeliveryCounts()
    }
    /// Counts the same, and more.
    private let parent: DeliveryLedger?
    private let state = LockedValue(State())

    init(within parent: DeliveryLedger? = nil) { self.parent = parent }

    /// One more consumer counts here.
    func join(_ consumer: any CountedDelivery) {
        state.withLockedValue { $0.live[ObjectIdentifier(consumer)] = consumer }
        parent?.join(consumer)
    }

    /// A consumer is gone; what it has counted stays.
    func leave(_ consumer: any CountedDelivery) {
        state.withLockedValue { state in
            guard state.live.removeValue(forKey: ObjectIdentifier(consumer)) != nil else { return }
            state.ended = state.ended + consumer.counts
        }
        parent?.leave(consumer)
    }

    var counts: DeliveryCounts { state.withLockedValue { state in state.live.values.reduce(state.ended) { $0 + $1.counts } } }
}

/// Counts the values of a consumer that loses none.
final class DeliveryTally: CountedDelivery {
    private let delivered = LockedValue(0)

    /// What waits is not decoded yet, so it was not received as a value.
    var counts: DeliveryCounts {
        var counts = DeliveryCounts()
        counts.delivered = delivered.withLockedValue(\.self)
        counts.received = counts.delivered
        return counts
    }

    func add() { delivered.withLockedValue { $0 += 1 } }
}
