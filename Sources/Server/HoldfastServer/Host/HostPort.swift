public import NIOCore
import WebSocketRuntime

/// A server's clients on one event loop, and the way between them and the machine: in batches, one hop for each burst.
///
/// SAFETY: all is touched on the event loop only, but what is constant.
@usableFromInline package final class HostPort<Server: HostedServer>: @unchecked Sendable {
    @usableFromInline package let loop: any EventLoop
    @usableFromInline package let number: Int
    @usableFromInline package let host: MachineHost<Server>
    /// What the server has here.
    @usableFromInline package let local: Server.Local
    @usableFromInline var clients: [Server.Client?] = []
    @usableFromInline var freeSlots: [Int] = []
    @usableFromInline var count: UInt64 = 0
    /// What clients said that the machine has not been told.
    @usableFromInline var inputs: [HostedSaying<Server>] = []
    @usableFromInline var isScheduled = false

    init(_ loop: any EventLoop, number: Int, host: MachineHost<Server>, local: Server.Local) {
        (self.loop, self.number, self.host, self.local) = (loop, number, host, local)
    }

    /// Gives a client a number; nil: there are too many.
    @inlinable package func add(_ client: Server.Client) -> Server.ID? {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            clients[slot] = client
        } else {
            guard clients.count < Server.ID.mostSlots else { return nil }
            slot = clients.count
            clients.append(client)
        }
        count += 1
        return Server.ID(count: count, slot: slot, port: number)
    }

    @inlinable package func remove(_ id: Server.ID) {
        clients[id.slot] = nil
        freeSlots.append(id.slot)
    }

    /// The client of a connection; nil: it is served elsewhere, or has gone.
    @inlinable package subscript(id: Server.ID) -> Server.Client? {
        guard id.port == number, id.slot < clients.count, let client = clients[id.slot], client.id == id else { return nil }
        return client
    }

    /// Tells the machine at the end of this turn of the loop, with all that other clients say in it.
    ///
    /// - Parameter cost: What the client hears of again, by ``HostedClient/settled(_:)``.
    @inlinable package func hear(_ input: Server.Input, of id: Server.ID, cost: Int = 0) {
        inputs.append(HostedSaying(input, of: id, cost: cost))
        guard !isScheduled else { return }
        isScheduled = true
        loop.execute { self.handOver() }
    }

    @inlinable func handOver() {
        isScheduled = false
        let batch = inputs
        inputs = []
        inputs.reserveCapacity(batch.count)
        if host.loop === loop { host.take(batch) } else { host.loop.execute { self.host.take(batch) } }
    }

    /// The machine has dealt with what these said.
    @inlinable func settle(_ items: [Debt<Server>.Item]) {
        for (id, cost) in items { self[id]?.settled(cost) }
    }
}

/// One input of a client, and what it costs until the machine has been told and what follows is delivered.
@usableFromInline package struct HostedSaying<Server: HostedServer>: Sendable {
    @usableFromInline let input: Server.Input
    @usableFromInline let id: Server.ID
    @usableFromInline let cost: Int

    @inlinable package init(_ input: Server.Input, of id: Server.ID, cost: Int = 0) {
        (self.input, self.id, self.cost) = (input, id, cost)
    }
}

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
