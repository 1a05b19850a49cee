import CodecCore
import HoldfastTesting
import MachineCore
import ProtocolCore
import SocketIOCore
import Testing
import WebSocketCore

/// A client over connections that are cut at random, and every order of a few inputs.
@Suite struct SocketIOWorldTests {
    /// A server that acknowledges each event, and passes it to the listeners of the session.
    struct Server: SimulatedServer {
        typealias Client = SocketIOMachine
        /// What was carried out.
        var done: [[UInt8]] = []
        var isConnected = false
        /// Whether the client has kept the rules of the protocol.
        var faults: [String] = []

        mutating func open() -> [SocketIOReply] {
            isConnected = false
            return [.opened(EngineHandshake(sid: "e", pingInterval: .seconds(10), pingTimeout: .seconds(10)))]
        }

        mutating func receive(_ request: SocketIORequest) -> [SocketIOReply] {
            switch request {
            case .connect(let name, payload: _):
                if isConnected { faults.append("a second connect") }
                isConnected = true
                return [.packet(SocketIOPacket(.connect, namespace: name, json: Array(#"{"sid":"s"}"#.utf8)))]
            case .event(let emit, let id):
                if !isConnected { faults.append("an event before the namespace") }
                done.append(emit.arguments.json)
                var news = SocketIOPacket(.event, namespace: "/", json: Array("[\"e\",\(done.count)]".utf8))
                news.name = "e"
                let answer = id.map { SocketIOPacket(.acknowledgement, namespace: "/", id: $0, json: Array("[]".utf8)) }
                return [.packet(news)] + (answer.map { [.packet($0)] } ?? [])
            case .disconnect, .answer, .attachment, .ping, .pong: return []
            }
        }
    }

    @Test(arguments: 1...UInt64(200))
    func `over any cuts, each event ends once, none is sent twice unless the app wants it, and gaps are told`(seed: UInt64) {
        var world = ProtocolSimulation(SocketIOMachine(), Server(), greeting: nil, seed: seed)
        world.perform(.join(RequestID(1000), "/", hasPayload: false))
        world.perform(.listen(RequestID(1001), "/", event: "e"))
        let kinds: [SocketIOEmit.Kind] = [.plain, .acknowledged, .retried(1000, after: .seconds(5))]
        for number in 1...60 as ClosedRange<UInt64> {
            world.perform(.emit(SocketIOBench.emit(number, kinds[Int(number % 3)]), patience: nil))
            world.run(for: .milliseconds(300), cuts: number.isMultiple(of: 3) ? 1 : 0)
        }
        world.run(for: .seconds(120))

        #expect(world.server.faults == [])
        var ends: [UInt64: [SocketIOMachine.Event.Content]] = [:]
        for event in world.events where event.isLast { ends[event.request?.number ?? 0, default: []].append(event.content) }
        let missing = Set(1...60).subtracting(ends.keys).sorted()
        #expect(missing == [], "these have not ended: \(world)")
        let counts = Dictionary(grouping: world.server.done) { $0 }.mapValues(\.count)
        for (number, contents) in ends {
            #expect(contents.count == 1, "event \(number) ended \(contents.count) times")
            let count = counts[SocketIOBench.emit(number).arguments.json] ?? 0
            switch (kinds[Int(number % 3)], contents[0]) {
            case (.plain, .written): #expect(count <= 1)
            case (.acknowledged, .acknowledged): #expect(count == 1)
            case (.acknowledged, .failed(.lost)): #expect(count <= 1)
            case (.retried, .acknowledged): #expect(count >= 1)
            default: Issue.record("event \(number) ended with \(contents[0])")
            }
        }
        // The events with retries are carried out in the order of the app.
        var seen: Set<[UInt8]> = []
        let retried = (1...60 as ClosedRange<UInt64>).filter { $0 % 3 == 2 }.map { SocketIOBench.emit($0).arguments.json }
        #expect(world.server.done.filter { retried.contains($0) && seen.insert($0).inserted } == retried)

        // What the listener got: each event once, in order, and none is missing without a gap before the next one.
        var (last, mayMiss) = (0, true)
        for event in world.events where event.request == RequestID(1001) {
            switch event.content {
            case .gap: mayMiss = true
            case .message(let message):
                let number = (try? message.arguments.values().last?.int) ?? -1
                #expect(number > last && (mayMiss || number == last + 1), "\(number) after \(last)")
                (last, mayMiss) = (number, false)
            default: Issue.record("the listener got \(event)")
            }
        }
        #expect(world.connections > 5)
    }

    /// The machine, and what it has promised.
    struct Audited: Machine, Hashable {
        var machine = SocketIOMachine()
        var (isOpen, isAccepted) = (false, false)
        var (begun, ended) = (0, 0)
        var deadline: Moment? { machine.deadline }

        init() {
            var effects: [SocketIOMachine.Effect] = []
            machine.handle(.command(.join(RequestID(9), "/", hasPayload: true)), at: .start, into: &effects)
        }

        mutating func handle(_ input: SocketIOMachine.Input, at now: Moment, into effects: inout [SocketIOMachine.Effect]) {
            switch input {
            case .opened where isOpen, .paused where !isOpen, .resumed where !isOpen, .lost where !isOpen, .received where !isOpen,
                .undecodable where !isOpen:
                return  // Cannot happen.
            case .opened: isOpen = true
            case .lost: (isOpen, isAccepted) = (false, false)
            case .received(.packet(let packet)) where packet.kind == .connect: isAccepted = true
            case .command(.emit(let emit, _)):
                guard begun < 2 else { return }
                begun += 1
                let own = SocketIOBench.emit(UInt64(begun), emit.kind)
                machine.handle(.command(.emit(own, patience: .seconds(9))), at: now, into: &effects)
                return note(effects)
            default: break
            }
            machine.handle(input, at: now, into: &effects)
            note(effects)
        }

        mutating func wake(at now: Moment, into effects: inout [SocketIOMachine.Effect]) {
            machine.wake(at: now, into: &effects)
            note(effects)
        }

        private mutating func note(_ effects: [SocketIOMachine.Effect]) {
            for case .event(let event) in effects where event.isLast { ended += 1 }
        }
    }

    @Test func `whatever happens, an event is sent only in a session, and ends once`() throws {
        let inputs: [SocketIOMachine.Input] = [
            .opened(nil), .lost(unsent: []), .lost(unsent: [SocketIOBench.sending(1, .acknowledged)]),
            .received(.opened(EngineHandshake(sid: "e"))),
            .received(.packet(SocketIOPacket(.connect, namespace: "/", json: Array(#"{"sid":"s"}"#.utf8)))),
            .received(.packet(SocketIOPacket(.connectError, namespace: "/"))),
            .received(.packet(SocketIOPacket(.disconnect, namespace: "/"))),
            .received(.packet(SocketIOPacket(.acknowledgement, namespace: "/", id: 1, json: Array("[]".utf8)))), .received(.closed),
            .undecodable(""), .paused, .resumed, .command(.authenticate("/", payload: nil)), .command(.connect("/")),
            .command(.disconnect("/")), .command(.emit(SocketIOBench.emit(0, .acknowledged), patience: nil)),
            .command(.emit(SocketIOBench.emit(0, .retried(1, after: .seconds(2))), patience: nil)), .command(.cancel(RequestID(1), "/")),
        ]
        let states = try explore(Audited(), inputs: inputs, depth: 5, tick: .seconds(4)) { step in
            for case .send(.event) in step.effects { try #require(step.after.isAccepted, "\(step)") }
            try #require(step.after.ended <= step.after.begun, "\(step)")
        }
        #expect(states > 400)
    }
}
