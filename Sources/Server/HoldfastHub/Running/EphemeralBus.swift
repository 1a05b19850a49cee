import WebSocketRuntime
import RoomCore

/// Carries ephemeral messages between the nodes of a hub: presence, typing, signals.
///
/// Messages may be lost or late, but the messages of one node arrive in order.
package protocol EphemeralBus: Sendable {
    /// Sends a message to all nodes, including this one; returns at once.
    func publish(_ message: BusMessage)

    /// Calls `handle` with every message from now on, on any thread, until the subscription is cancelled.
    func subscribe(_ handle: @escaping @Sendable (BusMessage) -> Void) -> BusSubscription
}

/// A subscription that can be cancelled.
package struct BusSubscription: Sendable {
    package let cancel: @Sendable () -> Void

    package init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
}

/// A bus between hubs in one process, usually only one hub.
package final class LocalBus: EphemeralBus {
    private let hearers = LockedValue<(last: Int, all: [(number: Int, handle: @Sendable (BusMessage) -> Void)])>((0, []))

    /// Creates a bus without subscribers.
    package init() {}

    package func publish(_ message: BusMessage) {
        for (_, handle) in hearers.withLockedValue({ $0.all }) { handle(message) }
    }

    package func subscribe(_ handle: @escaping @Sendable (BusMessage) -> Void) -> BusSubscription {
        let number = hearers.withLockedValue { hearers in
            hearers.last += 1
            hearers.all.append((hearers.last, handle))
            return hearers.last
        }
        return BusSubscription { [hearers] in hearers.withLockedValue { $0.all.removeAll { $0.number == number } } }
    }
}
