import WebSocketRuntime
import NIOCore

/// What clients of one event loop have sent and the machine has not dealt with.
///
/// A client that publishes to many causes more work than it sends bytes, on other event loops than its own: so it gets room for more only
/// when these have done theirs.
@usableFromInline final class Debt<Server: HostedServer>: Sendable {
    /// Who has sent how much.
    @usableFromInline typealias Item = (id: Server.ID, cost: Int)

    private let items: [Item]
    private let port: HostPort<Server>
    private let awaited = LockedValue(0)

    @usableFromInline init(_ items: [Item], of port: HostPort<Server>) { (self.items, self.port) = (items, port) }

    /// So many event loops have something to deliver; none: that was it.
    @usableFromInline func await(_ count: Int) {
        if count == 0 { return settle() }
        awaited.withLockedValue { $0 = count }
    }

    /// One of them has.
    @usableFromInline func delivered() {
        let isLast = awaited.withLockedValue { awaited in
            awaited -= 1
            return awaited == 0
        }
        if isLast { settle() }
    }

    private func settle() {
        port.loop.execute { [items, port] in port.settle(items) }
    }
}
