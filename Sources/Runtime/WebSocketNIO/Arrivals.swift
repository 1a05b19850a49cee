import DequeModule
package import NIOCore
package import WebSocketCore
import WebSocketRuntime

/// Passes the connections that open on one event loop to the task that starts their handlers there, in the same turn.
///
/// SAFETY: everything except ``finish()`` is called on the event loop only.
package final class Arrivals: @unchecked Sendable {
    /// A connection, its request, and the peer's address.
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

    /// The identity of its event loop.
    package var id: ObjectIdentifier { ObjectIdentifier(local.loop) }

    /// Creates the actor for ``next(on:)``.
    package func makeActor() -> LoopActor { LoopActor(local) }

    /// Adds a connection; returns false after the end.
    package func add(_ socket: WebSocketChannel, _ head: RequestHead, _ peer: SocketAddress?) -> Bool {
        guard !isOver else { return false }
        let arrival = Arrival(socket: socket, head: head, peer: peer)
        if let taker = taker.take() { taker.call(arrival) } else { waiting.append(arrival) }
        return true
    }

    /// Returns the next connection; nil when there will be no more.
    ///
    /// Only one task at a time may call this.
    package func next(on actor: isolated LoopActor) async -> Arrival? {
        if let first = waiting.popFirst() { return first }
        if isOver { return nil }
        let place = Parking<Arrival?>()
        taker = place
        return await place.wait()
    }

    /// Ends the arrivals: no more connections are accepted.
    package func finish() {
        local.loop.execute {
            self.isOver = true
            self.taker.take()?.call(nil)
        }
    }
}
