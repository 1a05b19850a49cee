public import MachineCore
public import ProtocolCore

/// A server for a ``ProtocolSimulation``, as a value: its lasting state, and its state for the current connection.
public protocol SimulatedServer {
    /// The type of the protocol's client.
    associatedtype Client: ProtocolTypes
    /// Starts a new connection, without any state of an earlier one; returns the first messages to the client.
    mutating func open() -> [Client.Received]
    /// Handles a message from the client, and returns the answers.
    mutating func receive(_ message: Client.Sent) -> [Client.Received]
}

/// A simulation of a protocol's client machine and a server, over connections that are cut at random.
///
/// It uses no tasks and no clock: time jumps to the next event. Each direction keeps its order, and a cut loses the messages in transit.
/// The seed decides all random choices, so a failure replays exactly.
/// ```swift
/// var world = ProtocolSimulation(rules, server, greeting: nil, seed: seed)
/// world.perform(command)
/// world.run(for: .seconds(600), cuts: 20)
/// ```
public struct ProtocolSimulation<Client: ProtocolMachine, Server: SimulatedServer> where Server.Client == Client {
    private enum Link {
        case none(until: Moment)
        case open
        /// The peer gets nothing, and the client has not noticed.
        case silent
    }
    /// The client's machine.
    public private(set) var client: Client
    /// The server, which a test may change between two runs.
    public var server: Server
    /// The events that the client has reported, in order.
    public private(set) var events: [Client.Event] = []
    /// How the client has ended connections, in order.
    public private(set) var ends: [ConnectionEnd] = []
    /// The number of connections, and how many of them became ready.
    public private(set) var connections = 0, readies = 0
    /// The current simulated time.
    public private(set) var now = Moment.start
    /// Whether the client has ended the simulation, with `stop` or with `close`.
    ///
    /// After `close`, a socket makes no other connection unless its `LossTable` says so.
    public private(set) var isOver = false

    private var link = Link.none(until: .start)
    private var outbound: [(lands: Moment, message: Client.Sent)] = []
    private var inbound: [(lands: Moment, message: Client.Received)] = []
    private let greeting: Client.Greeting
    private var random: SeededGenerator

    /// Creates a client and a server that are not connected yet.
    public init(_ client: Client, _ server: Server, greeting: Client.Greeting, seed: UInt64) {
        (self.client, self.server, self.greeting, random) = (client, server, greeting, SeededGenerator(seed: seed))
    }

    /// Applies a command of the app to the client, now.
    public mutating func perform(_ command: Client.Command) { drive(.command(command)) }

    /// Runs everything that is due within a time, with so many cuts at random moments.
    ///
    /// The client does not notice a third of the cuts.
    public mutating func run(for duration: Duration, cuts: Int = 0) {
        let end = now + duration
        var moments = (0..<cuts).map { _ in now + duration * Double.random(in: 0..<1, using: &random) }.sorted()
        while !isOver {
            guard let next = Moment.earliest(nextMoment, moments.first), next <= end else { break }
            now = max(now, next)
            if let moment = moments.first, moment <= now {
                moments.removeFirst()
                if Int.random(in: 0..<3, using: &random) == 0, case .open = link { silence() } else { cut() }
            } else {
                step()
            }
        }
        now = max(now, end)
    }

    /// Cuts the connection, and the client notices; the next one follows within two seconds.
    public mutating func cut() {
        if case .none = link { return }
        // Some of the last messages in transit had not even been sent.
        let unsent = outbound.suffix(Int.random(in: 0...outbound.count, using: &random)).map(\.message)
        lose(unsent: unsent, until: now + pause())
    }

    private mutating func pause() -> Duration { .milliseconds(Int.random(in: 10...2000, using: &random)) }

    private mutating func silence() { (link, outbound, inbound) = (.silent, [], []) }

    private mutating func lose(unsent: [Client.Sent], until opening: Moment) {
        (link, outbound, inbound) = (.none(until: opening), [], [])
        drive(.lost(unsent: unsent))
    }

    private var nextMoment: Moment? {
        let opening: Moment? = if case .none(let until) = link { until } else { nil }
        return .earliest(opening, outbound.first?.lands, inbound.first?.lands, client.deadline)
    }

    private mutating func step() {
        if case .none(let until) = link, until <= now {
            link = .open
            connections += 1
            answer(server.open())
            drive(.opened(greeting))
        } else if let (lands, message) = outbound.first, lands <= now {
            outbound.removeFirst()
            answer(server.receive(message))
        } else if let (lands, message) = inbound.first, lands <= now {
            inbound.removeFirst()
            drive(.received(message))
        } else {
            var effects: [Client.Effect] = []
            client.wake(at: now, into: &effects)
            precondition(client.deadline.map { $0 > now } ?? true, "a machine that was woken has nothing more to do at that moment")
            carryOut(effects)
        }
    }

    private mutating func drive(_ input: Client.Input) {
        var effects: [Client.Effect] = []
        client.handle(input, at: now, into: &effects)
        carryOut(effects)
    }

    private mutating func carryOut(_ effects: [Client.Effect]) {
        var end: ConnectionEnd?
        for effect in effects {
            switch effect {
            case .send(let message):
                if case .open = link, end == nil { outbound.append((landing(after: outbound.last?.lands), message)) }
            case .ready: readies += 1
            case .event(let event): events.append(event)
            case .end(let how):
                ends.append(how)
                end = end ?? how
            case .connect: if case .none(until: .distantFuture) = link { link = .none(until: now + pause()) }
            }
        }
        if let end { endConnection(end) }
    }

    private mutating func endConnection(_ end: ConnectionEnd) {
        switch end {
        case .stop, .close: isOver = true
        case .cut, .reject, .reconnect, .disconnect: break
        }
        if case .none = link { return }
        // Messages that were sent before an orderly end still arrive.
        if case .cut = end {} else { for (_, message) in outbound { _ = server.receive(message) } }
        switch end {
        case .reconnect(let pause, _, _): lose(unsent: [], until: now + max(pause, self.pause()))
        case .disconnect: lose(unsent: [], until: .distantFuture)
        default: lose(unsent: [], until: now + pause())
        }
    }

    private mutating func answer(_ messages: [Client.Received]) {
        guard case .open = link else { return }
        for message in messages { inbound.append((landing(after: inbound.last?.lands), message)) }
    }

    private mutating func landing(after last: Moment?) -> Moment {
        max(now + .milliseconds(Int.random(in: 1...100, using: &random)), last ?? now)
    }
}
