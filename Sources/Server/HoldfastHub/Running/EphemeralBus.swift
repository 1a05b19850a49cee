import WebSocketRuntime
import RoomCore

/// Carries what the nodes of a hub tell each other and nobody stores: presence, typing, signals.
///
/// What is told may be lost, and may come late, but what one node tells comes in its order.
package protocol EphemeralBus: Sendable {
    /// Tells all nodes, the teller too; returns at once.
    func publish(_ message: BusMessage)

    /// Calls `hear` with all that any node tells from now on, on any thread, until the subscription is cancelled.
    func subscribe(_ hear: @escaping @Sendable (BusMessage) -> Void) -> BusSubscription
}

/// What ends a subscription.
package struct BusSubscription: Sendable {
    package let cancel: @Sendable () -> Void

    package init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
}

/// The bus of hubs that are in one process, most often of one.
package final class LocalBus: EphemeralBus {
    private let hearers = LockedValue<(last: Int, all: [(number: Int, hear: @Sendable (BusMessage) -> Void)])>((0, []))

    /// A bus without anybody.
    package init() {}

    package func publish(_ message: BusMessage) {
        for (_, hear) in hearers.withLockedValue(\.all) { hear(message) }
    }

    package func subscribe(_ hear: @escaping @Sendable (BusMessage) -> Void) -> BusSubscription {
        let number = hearers.withLockedValue { hearers in
            hearers.last += 1
            hearers.all.append((hearers.last, hear))
            return hearers.last
        }
        return BusSubscription { [hearers] in hearers.withLockedValue { $0.all.removeAll { $0.number == number } } }
    }
}
