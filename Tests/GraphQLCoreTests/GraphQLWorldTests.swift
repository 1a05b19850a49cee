import GraphQLCore
import HoldfastTesting
import MachineCore
import ProtocolCore
import Testing
import WebSocketCore

/// A client over connections that are cut at random, and every order of a few inputs.
@Suite struct GraphQLWorldTests {
    /// A server whose subscriptions give the number of each mutation.
    struct Server: SimulatedServer {
        typealias Client = GraphQLMachine
        var mutations: [[UInt8]] = []
        /// The subscriptions of this connection, with how many events each got.
        var subscriptions: [RequestID: Int] = [:]
        /// Whether the client has kept the rules of the protocol.
        var faults: [String] = []
        var isReady = false

        mutating func open() -> [GraphQLReply] {
            (subscriptions, isReady) = ([:], false)
            return []
        }

        mutating func receive(_ request: GraphQLRequest) -> [GraphQLReply] {
            switch request {
            case .initialize:
                if isReady { faults.append("a second connection_init") }
                isReady = true
                return [.acknowledged(payload: nil)]
            case .subscribe(let id, let payload):
                if !isReady { faults.append("an operation before the acknowledgement") }
                if subscriptions[id] != nil { faults.append("the id \(id.number) twice") }
                if payload.first == UInt8(ascii: "m") {
                    mutations.append(payload)
                    let news = subscriptions.keys.sorted().map { id -> GraphQLReply in
                        subscriptions[id, default: 0] += 1
                        return .next(id, GraphQLResult(data: payload))
                    }
                    return news + [.next(id, GraphQLResult(data: payload)), .completed(id)]
                }
                subscriptions[id] = 0
                return []
            case .complete(let id):
                subscriptions[id] = nil
                return []
            case .ping: return [.pong]
            case .pong: return []
            }
        }
    }

    @Test(arguments: 1...UInt64(200))
    func `over any cuts, no mutation is sent twice, and a gap is told wherever an event may be missing`(seed: UInt64) {
        var world = ProtocolSimulation(GraphQLMachine(), Server(), greeting: GraphQLGreeting(), seed: seed)
        world.perform(.begin(RequestID(1000), PendingOperation(.subscription, payload: Array("s".utf8)), patience: nil))
        for number in 1...60 as ClosedRange<UInt64> {
            world.perform(.begin(RequestID(number), PendingOperation(.mutation, payload: Array("m\(number)".utf8)), patience: nil))
            world.run(for: .milliseconds(300), cuts: number.isMultiple(of: 3) ? 1 : 0)
        }
        world.run(for: .seconds(120))

        #expect(world.server.faults == [])
        #expect(Set(world.server.mutations).count == world.server.mutations.count, "a mutation was carried out twice")
        var (isAnswered, unknown): ([RequestID: Int], Set<[UInt8]>) = ([:], [])
        for event in world.events where event.isLast {
            isAnswered[event.request ?? RequestID(0), default: 0] += 1
            if event.content == .failed(.lost), let id = event.request { unknown.insert(Array("m\(id.number)".utf8)) }
        }
        #expect(isAnswered == Dictionary(uniqueKeysWithValues: (1...60).map { (RequestID($0), 1) }), "each mutation ends once")
        // What was answered has been carried out; what was not answered may have been.
        let done = Set(world.server.mutations)
        #expect((1...60).allSatisfy { done.contains(Array("m\($0)".utf8)) || unknown.contains(Array("m\($0)".utf8)) })

        // The subscription: events in order, each once, and those that are missing follow a gap.
        var last = -1
        var mayMiss = true
        for event in world.events where event.request == RequestID(1000) {
            switch event.content {
            case .gap: mayMiss = true
            case .next(let result):
                guard let place = world.server.mutations.firstIndex(of: result.data ?? []) else {
                    Issue.record("an event of nobody")
                    continue
                }
                #expect(place > last, "an event came twice, or late")
                #expect(mayMiss || place == last + 1, "events are missing without a gap")
                (last, mayMiss) = (place, false)
            default: Issue.record("the subscription ended: \(event)")
            }
        }
        #expect(world.connections > 5 && world.server.subscriptions.count == 1)
    }

    @Test(arguments: 1...UInt64(50)) func `one bad operation among many ends alone`(seed: UInt64) {
        struct Strict: SimulatedServer {
            typealias Client = GraphQLMachine
            var base = Server()
            mutating func open() -> [GraphQLReply] { base.open() }
            mutating func receive(_ request: GraphQLRequest) -> [GraphQLReply] { base.receive(request) }
        }
        var machine = GraphQLBench()
        var random = SeededGenerator(seed: seed)
        let bad = RequestID(UInt64.random(in: 1...20, using: &random))
        for number in 1...20 as ClosedRange<UInt64> { machine.begin(number) }
        var ended: [GraphQLMachine.Event] = []
        for _ in 1...10 {
            machine.connect()
            // The server answers in order, and closes at the bad operation.
            var isClosed = false
            while !isClosed, !machine.sent.isEmpty {
                for request in machine.takeSent() where !isClosed {
                    switch request {
                    case .subscribe(bad, _): isClosed = true
                    case .ping: machine.handle(.received(.pong))
                    default: break
                    }
                }
            }
            ended += machine.takeEvents().filter(\.isLast)
            guard isClosed else { break }
            machine.lose(4400)
            ended += machine.takeEvents().filter(\.isLast)
        }
        #expect(ended == [GraphQLBench.event(bad.number, .failed(.rejected(CloseFrame(.badRequest))))])
    }

    /// The machine, and what it has promised.
    struct Audited: Machine, Hashable {
        var machine = GraphQLMachine(Self.policy)
        var (isOpen, isAcknowledged) = (false, false)
        var (begun, ended) = (0, 0)
        var deadline: Moment? { machine.deadline }
        static var policy: GraphQLPolicy {
            var policy = GraphQLPolicy()
            policy.idle = .seconds(12)
            return policy
        }

        mutating func handle(_ input: GraphQLMachine.Input, at now: Moment, into effects: inout [GraphQLMachine.Effect]) {
            switch input {
            case .opened where isOpen, .paused where !isOpen, .resumed where !isOpen, .lost where !isOpen, .received where !isOpen,
                .undecodable where !isOpen:
                return  // Cannot happen.
            case .opened: isOpen = true
            case .lost: (isOpen, isAcknowledged) = (false, false)
            case .received(.acknowledged): isAcknowledged = true
            case .command(.begin):
                guard begun < 2 else { return }
                begun += 1
                let run = PendingOperation(.mutation, payload: [1])
                return handle(.command(.begin(RequestID(UInt64(begun)), run, patience: .seconds(9))), now, &effects)
            default: break
            }
            handle(input, now, &effects)
        }

        private mutating func handle(_ input: GraphQLMachine.Input, _ now: Moment, _ effects: inout [GraphQLMachine.Effect]) {
            machine.handle(input, at: now, into: &effects)
            note(effects)
        }

        mutating func wake(at now: Moment, into effects: inout [GraphQLMachine.Effect]) {
            machine.wake(at: now, into: &effects)
            note(effects)
        }

        private mutating func note(_ effects: [GraphQLMachine.Effect]) {
            for case .event(let event) in effects where event.isLast { ended += 1 }
        }
    }

    @Test
    func `whatever happens, nothing but pongs and the first message precedes the acknowledgement, and an operation ends once`() throws {
        let bad = CloseFrame(.badRequest)
        let inputs: [GraphQLMachine.Input] = [
            .opened(GraphQLGreeting()), .lost(unsent: []), .lost(unsent: [], close: bad),
            .lost(unsent: [.subscribe(RequestID(1), payload: [1])]),
            .received(.acknowledged(payload: nil)), .received(.pong), .received(.next(RequestID(1), GraphQLResult(data: [1]))),
            .received(.failed(RequestID(1), [])), .received(.completed(RequestID(1))), .undecodable(""), .paused, .resumed,
            .command(.begin(RequestID(0), PendingOperation(.mutation, payload: [1]), patience: nil)), .command(.cancel(RequestID(1))),
        ]
        let states = try explore(Audited(), inputs: inputs, depth: 6, tick: .seconds(4)) { step in
            for case .send(let request) in step.effects {
                switch request {
                case .initialize, .pong: break
                default: try #require(step.after.isAcknowledged, "\(step)")
                }
            }
            try #require(step.after.ended <= step.after.begun, "\(step)")
        }
        #expect(states > 400)
    }
}
