import DequeModule
package import NIOCore
package import WebSocketCore
import WebSocketRuntime

/// Hands the connections that open on one event loop to the task that starts their handlers there, in the same turn.
///
/// SAFETY: all but ``finish()`` is called on the event loop only.
package final class Arrivals: @unchecked Sendable {
    /// A connection, what asked for it, and from where.
    package struct Arrival: Sendable {
        package let socket: WebSocketChannel
        package let head: RequestHead
        package let peer: SocketAddress?
    }
    private let lease: LoopLease
    var local: LoopLocal { lease.local }
    private var waiting: Deque<Arrival> = []
    private var taker: Parking<Arrival?>?
    private var isOver = false

    package init(on loop: any EventLoop) { lease = LoopLease(for: loop) }

    /// What its event loop is known by.
    package var id: ObjectIdentifier { ObjectIdentifier(local.loop) }

    /// Where ``next(on:)`` is to be called.
    package func makeActor() -> LoopActor { LoopActor(local) }

    /// Hands over a connection; false if nobody takes any more.
    package func add(_ socket: WebSocketChannel, _ head: RequestHead, _ peer: SocketAddress?) -> Bool {
        guard !isOver else { return false }
        let arrival = Arrival(socket: socket, head: head, peer: peer)
        if let taker = taker.take() { taker.call(arrival) } else { waiting.append(arrival) }
        return true
    }

    /// The next connection; nil when there will be none.
    ///
    /// For one task at a time.
    package func next(on actor: isolated LoopActor) async -> Arrival? {
        if let first = waiting.popFirst() { return first }
        if isOver { return nil }
        let place = Parking<Arrival?>()
        taker = place
        return await place.wait()
    }

    /// Takes no more connections.
    package func finish() {
        local.loop.execute {
            self.isOver = true
            self.taker.take()?.call(nil)
        }
    }
}
