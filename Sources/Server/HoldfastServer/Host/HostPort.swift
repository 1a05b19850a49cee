public import NIOCore
import WebSocketRuntime

/// A server's clients on one event loop.
///
/// Passes inputs and results between them and the machine in batches, with one hop per burst.
///
/// SAFETY: Everything except constants is accessed on the event loop only.
@usableFromInline package final class HostPort<Server: HostedServer>: @unchecked Sendable {
    @usableFromInline package let loop: any EventLoop
    @usableFromInline package let number: Int
    @usableFromInline package let host: MachineHost<Server>
    /// The server's local data on this event loop.
    @usableFromInline package let local: Server.Local
    @usableFromInline var clients: [Server.Client?] = []
    @usableFromInline var freeSlots: [Int] = []
    @usableFromInline var count: UInt64 = 0
    /// Inputs from clients that were not yet passed to the machine.
    @usableFromInline var inputs: [HostedInput<Server>] = []
    @usableFromInline var isScheduled = false

    init(_ loop: any EventLoop, number: Int, host: MachineHost<Server>, local: Server.Local) {
        (self.loop, self.number, self.host, self.local) = (loop, number, host, local)
    }

    /// Assigns an id to a client; returns nil if there are too many.
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

    /// The client of a connection; nil if another event loop serves it, or it is gone.
    @inlinable package subscript(id: Server.ID) -> Server.Client? {
        guard id.port == number, id.slot < clients.count, let client = clients[id.slot], client.id == id else { return nil }
        return client
    }

    /// Passes an input to the machine at the end of this loop turn, together with the inputs of other clients.
    ///
    /// - Parameter cost: The cost of the input, which ``HostedClient/settled(_:)`` later reports back.
    @inlinable package func handle(_ input: Server.Input, of id: Server.ID, cost: Int = 0) {
        inputs.append(HostedInput(input, of: id, cost: cost))
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

    /// Reports to the clients that the machine has handled their inputs.
    @inlinable func settle(_ items: [InputCredit<Server>.Item]) {
        for (id, cost) in items { self[id]?.settled(cost) }
    }
}

/// One input of a client, and its cost until it was handled and its results were delivered.
@usableFromInline package struct HostedInput<Server: HostedServer>: Sendable {
    @usableFromInline let input: Server.Input
    @usableFromInline let id: Server.ID
    @usableFromInline let cost: Int

    @inlinable package init(_ input: Server.Input, of id: Server.ID, cost: Int = 0) {
        (self.input, self.id, self.cost) = (input, id, cost)
    }
}

/// Inputs of clients of one event loop that were not yet handled completely.
///
/// A client that publishes to many others causes more work than it sends bytes, and on other event loops. It may send more only when that
/// work is done.
@usableFromInline final class InputCredit<Server: HostedServer>: Sendable {
    /// A client and the cost of its inputs.
    @usableFromInline typealias Item = (id: Server.ID, cost: Int)

    private let items: [Item]
    private let port: HostPort<Server>
    private let awaited = LockedValue(0)

    @usableFromInline init(_ items: [Item], of port: HostPort<Server>) { (self.items, self.port) = (items, port) }

    /// Sets the number of event loops that must deliver results; with none, the inputs are settled at once.
    @usableFromInline func await(_ count: Int) {
        if count == 0 { return settle() }
        awaited.withLockedValue { $0 = count }
    }

    /// Notes that one event loop has delivered its results.
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
