public import DequeModule
public import MachineCore
public import NIOCore
import NIOPosix
import WebSocketCore
package import WebSocketNIO
public import WebSocketRuntime

/// Runs a server's state machine on one event loop, for clients on all event loops.
///
/// All servers with a state machine use it.
///
/// Inputs and results are passed in batches. If a batch is too large for one loop turn, clients take turns, and the loop handles its
/// sockets in between.
///
/// SAFETY: Everything is accessed on `loop` only, except constants and members that say otherwise. All code that runs for each message is
/// inlinable.
@usableFromInline package final class MachineHost<Server: HostedServer>: @unchecked Sendable {
    /// The maximum number of inputs in one turn before the loop handles its sockets, unless the time limit comes first.
    @inlinable package static var mostInTurn: Int { 256 }
    @inlinable static var longestTurn: TimeAmount { .milliseconds(5) }
    /// The pause before a turn is continued.
    ///
    /// A loop runs all due tasks before it handles its sockets.
    @inlinable static var pause: TimeAmount { .microseconds(50) }

    @usableFromInline package let loop: any EventLoop
    @usableFromInline package let time: LinkTime
    /// Up to this many inputs are handled without a queue.
    @usableFromInline let fewInputs: Int
    @usableFromInline var server: Server?
    /// Constant until the host is finished.
    @usableFromInline var ports: [HostPort<Server>] = []
    @usableFromInline var outputs: [[Server.Output]] = []
    /// The same ports, for access from any thread.
    private let directory = LockedValue<[HostPort<Server>]>([])
    /// Inputs that did not fit into one turn.
    @usableFromInline var backlog = FairQueue<Server.ID, HostedInput<Server>>()
    @usableFromInline var isTurnDue = false
    @usableFromInline let timer: DeadlineTimer
    private let isStoppingBox = LockedValue(false)
    private let stopped = LinkOutcome<Void>()
    /// Whether the machine was told to stop.
    package private(set) var isToldToStop = false

    /// - Parameters:
    ///   - loops: The event loops of the clients. The machine runs on the first.
    ///   - fewInputs: Up to this many inputs that arrive together are handled at once, whichever client sent them.
    ///   - local: Creates the server's local data for one event loop.
    package init(_ loops: [any EventLoop], time: LinkTime, fewInputs: Int, local: () -> Server.Local) {
        (loop, self.time, self.fewInputs, timer) = (loops[0], time, fewInputs, DeadlineTimer(time))
        ports = loops.prefix(Server.ID.mostPorts).enumerated().map { HostPort($1, number: $0, host: self, local: local()) }
        outputs = ports.map { _ in [] }
        directory.withLockedValue { $0 = ports }
    }

    /// Starts serving; must be called before anything else.
    package func serve(_ server: Server) { self.server = server }

    /// Returns the port of an event loop, on any thread; nil if the host is finished or does not use the loop.
    package func port(of loop: any EventLoop) -> HostPort<Server>? { directory.withLockedValue { $0.first { $0.loop === loop } } }

    /// Returns the port with this number, on any thread; nil if the host is finished.
    package func port(number: Int) -> HostPort<Server>? {
        directory.withLockedValue { $0.indices.contains(number) ? $0[number] : nil }
    }

    /// Creates the handler of a connection on the present event loop.
    ///
    /// Once the host is finished, the connection is closed.
    package func handler(_ make: (HostPort<Server>) -> any InlineHandler) -> any InlineHandler {
        MultiThreadedEventLoopGroup.currentEventLoop.flatMap(port(of:)).map(make) ?? ClosingHandler()
    }

    // MARK: - Inputs

    /// Passes events to the machine in order, and carries out its effects.
    package func take(_ inputs: [Server.Input]) {
        turn { server, now in
            for input in inputs { server.handle(input, at: now) }
            return []
        }
    }

    /// Does the same from any thread.
    package func submit(_ inputs: [Server.Input]) { loop.execute { self.take(inputs) } }

    /// Passes inputs of clients to the machine.
    ///
    /// Inputs that do not fit into one turn wait for the next ones.
    ///
    /// Probes, other clients and the server's own work therefore do not wait for all of them.
    @inlinable package func take(_ inputs: [HostedInput<Server>]) {
        guard !backlog.isEmpty || inputs.count > fewInputs else {
            return turn { server, now in
                for input in inputs { server.handle(input.input, at: now) }
                return inputs
            }
        }
        guard server != nil else { return }
        for input in inputs { backlog.add(input, of: input.id) }
        if !isTurnDue { takeTurn() }
    }

    @inlinable func takeTurn() {
        turn { server, now in
            let end = NIODeadline.now() + Self.longestTurn
            var heard: [HostedInput<Server>] = []
            repeat {
                for input in backlog.next() {
                    server.handle(input.input, at: now)
                    heard.append(input)
                }
            } while !backlog.isEmpty && heard.count < Self.mostInTurn && .now() < end
            isTurnDue = !backlog.isEmpty
            if isTurnDue { loop.assumeIsolated().scheduleTask(in: Self.pause) { self.takeTurn() } }
            return heard
        }
    }

    /// Runs one turn of the machine: wakes it if it is due, and carries out its effects.
    ///
    /// - Parameter notify: Passes events to the machine, and returns the client inputs among them.
    @inlinable package func turn(_ notify: (Server, Moment) -> [HostedInput<Server>] = { _, _ in [] }) {
        guard let server else { return }
        let now = time.now()
        if let deadline = server.deadline, deadline <= now { server.wake(at: now) }
        let inputs = notify(server, now)
        let at = NIODeadline.now()
        server.carryOut(at: now)
        post(at, credits(of: inputs))
        guard let deadline = server.deadline, timer.ringsAfter(deadline) else { return }
        timer.set(deadline) { [weak self, loop] in loop.execute { [weak self] in self?.turn() } }
    }

    // MARK: - Outputs

    /// Stores an output for the client's event loop until this turn ends.
    @inlinable package func put(_ output: Server.Output, for id: Server.ID) {
        // There are no ports once the server is gone.
        if id.port < outputs.count { outputs[id.port].append(output) }
    }

    /// Stores an output for every event loop.
    @inlinable package func putEverywhere(_ output: Server.Output) { for port in outputs.indices { outputs[port].append(output) } }

    /// Sends the outputs, with one hop per event loop and burst.
    @inlinable func post(_ at: NIODeadline, _ credits: [InputCredit<Server>]) {
        let busy = ports.filter { !outputs[$0.number].isEmpty }
        for credit in credits { credit.await(busy.count) }
        for port in busy {
            let load = outputs[port.number]
            outputs[port.number] = []
            // Also deferred on this loop, because delivery may cause new inputs.
            port.loop.execute {
                Server.deliver(load, sentAt: at, at: port)
                for credit in credits { credit.delivered() }
            }
        }
    }

    /// Returns the credits of these inputs, by event loop.
    ///
    /// A credit is settled when all results are with the clients' connections, or wait for them within their limits.
    @inlinable func credits(of inputs: [HostedInput<Server>]) -> [InputCredit<Server>] {
        var owed: [Int: [InputCredit<Server>.Item]] = [:]
        for input in inputs where input.cost > 0 { owed[input.id.port, default: []].append((input.id, input.cost)) }
        return owed.compactMap { $0 < ports.count ? InputCredit($1, of: ports[$0]) : nil }
    }

    // MARK: - The end

    /// Whether no more clients are accepted; on any thread.
    package var isStopping: Bool { isStoppingBox.withLockedValue({ $0 }) }

    /// Tells the machine to stop and waits for ``hasStopped()``, but not longer than `patience`; on any thread.
    package func stop(_ input: Server.Input, within patience: Duration) async {
        let isFirst = isStoppingBox.withLockedValue { isStopping in
            defer { isStopping = true }
            return !isStopping
        }
        if isFirst {
            loop.execute {
                self.isToldToStop = true
                self.take([input])
                self.loop.assumeIsolated().scheduleTask(in: .nanoseconds(patience.wholeNanoseconds)) { self.hasStopped() }
            }
        }
        await stopped.wait()
    }

    /// Notes that the server has done all work before the end.
    package func hasStopped() { stopped.settle(()) }

    /// Ends the host, on any thread.
    ///
    /// The machine gets no more inputs, and `last` runs at the end.
    package func finish(_ last: @escaping @Sendable (Server) -> Void) {
        isStoppingBox.withLockedValue { $0 = true }
        loop.execute {
            self.timer.cancel()
            if let server = self.server { last(server) }
            // They retain each other.
            (self.server, self.ports, self.outputs) = (nil, [], [])
            self.backlog = FairQueue()
            self.directory.withLockedValue { $0 = [] }
        }
    }
}

/// Closes a connection that was opened after the host had finished.
private final class ClosingHandler: InlineHandler {
    func opened(_ socket: InlineSocket) { socket.close(code: .goingAway, reason: "the server stops") }
    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {}
    func ended(_ result: Result<CloseRecord, TransportError>) {}
}

/// A server whose rules are one state machine, as seen by its ``MachineHost``.
///
/// Everything is called on the machine's event loop, except ``deliver(_:sentAt:at:)``.
@usableFromInline package protocol HostedServer: AnyObject, Sendable {
    /// The id of a connection.
    associatedtype ID: HostedID
    /// An input of the machine.
    associatedtype Input: Sendable
    /// One client, on its event loop.
    associatedtype Client: HostedClient where Client.ID == ID
    /// Data from the machine's event loop for a client's event loop.
    associatedtype Output: Sendable
    /// The local data of each event loop.
    associatedtype Local: AnyObject

    /// When to wake the machine.
    var deadline: Moment? { get }
    /// Wakes the machine.
    func wake(at now: Moment)
    /// Passes an input to the machine.
    func handle(_ input: Input, at now: Moment)
    /// Carries out the machine's effects of this turn. Parcels go to ``MachineHost/put(_:for:)``.
    func carryOut(at now: Moment)
    /// Delivers outputs that the machine's event loop sent at `at`, on the event loop of the port.
    static func deliver(_ outputs: [Output], sentAt at: NIODeadline, at port: HostPort<Self>)
}

/// One client of a ``HostedServer``, on its event loop.
@usableFromInline package protocol HostedClient: AnyObject {
    associatedtype ID: HostedID
    /// The id of its connection; nil before it is open and after it is gone.
    var id: ID? { get }
    /// Notes that the machine has handled an input of this cost from the client.
    func settled(_ cost: Int)
}

/// The id of a connection, which contains the event loop and slot, so that no search is needed.
@usableFromInline package protocol HostedID: Hashable, Sendable {
    var number: UInt64 { get }
    init(_ number: UInt64)
}

extension HostedID {
    @inlinable static var portBits: UInt64 { 10 }
    @inlinable static var slotBits: UInt64 { 22 }
    /// The maximum number of connections per event loop.
    @inlinable static var mostSlots: Int { 1 << Int(slotBits) }
    /// The maximum number of event loops.
    @inlinable package static var mostPorts: Int { 1 << Int(portBits) }

    /// Creates the id of the `count`-th connection of a port, in one of its slots; `count` makes it unique.
    @inlinable package init(count: UInt64, slot: Int, port: Int) {
        self.init((count << Self.slotBits | UInt64(slot)) << Self.portBits | UInt64(port))
    }

    /// The number of the event loop.
    @inlinable package var port: Int { Int(number & UInt64(Self.mostPorts - 1)) }
    /// The slot on that event loop.
    @inlinable package var slot: Int { Int(number >> Self.portBits & UInt64(Self.mostSlots - 1)) }
}

/// The inputs that wait for a turn of an event loop, in one queue per client; clients take turns.
///
/// A client that sends a lot at once therefore mostly delays itself. The queue has no limit of its own: the caller stops reading from a
/// client that has too much waiting.
@usableFromInline package struct FairQueue<Key: Hashable & Sendable, Item: Sendable>: Sendable {
    /// How many items of one client are taken in a row.
    @inlinable package static var inARow: Int { 8 }

    @usableFromInline var lines: [Key: Deque<Item>] = [:]
    /// The clients with a queue; the first is next.
    @usableFromInline var turns: Deque<Key> = []

    /// Creates an empty queue.
    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { turns.isEmpty }

    /// Adds an item to the end of a client's queue.
    @inlinable package mutating func add(_ item: Item, of key: Key) {
        guard lines[key]?.append(item) == nil else { return }
        lines[key] = [item]
        turns.append(key)
    }

    /// Returns the next items of the client whose turn it is, in their order.
    @inlinable package mutating func next() -> [Item] {
        guard let key = turns.popFirst(), var line = lines.removeValue(forKey: key) else { return [] }
        let items = Array(line.prefix(Self.inARow))
        line.removeFirst(items.count)
        if !line.isEmpty {
            lines[key] = line
            turns.append(key)
        }
        return items
    }
}
