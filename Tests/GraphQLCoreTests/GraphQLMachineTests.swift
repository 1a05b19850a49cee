import GraphQLCore
import HoldfastTesting
import MachineCore
import ProtocolCore
import Testing
import WebSocketCore

/// A machine whose inputs the test chooses, by a clock that the test moves.
struct GraphQLBench {
    var machine: GraphQLMachine
    var now = Moment.start
    private(set) var sent: [GraphQLRequest] = []
    private(set) var ends: [ConnectionEnd] = []
    private(set) var events: [GraphQLMachine.Event] = []
    private(set) var readies = 0
    private(set) var connects = 0

    init(_ change: (inout GraphQLPolicy) -> Void = { _ in }) {
        var policy = GraphQLPolicy()
        change(&policy)
        machine = GraphQLMachine(policy)
    }

    /// A machine with an acknowledged connection.
    static func ready(_ change: (inout GraphQLPolicy) -> Void = { _ in }) -> GraphQLBench {
        var bench = GraphQLBench(change)
        bench.connect()
        _ = bench.takeSent()
        return bench
    }

    mutating func handle(_ input: GraphQLMachine.Input) {
        var effects: [GraphQLMachine.Effect] = []
        machine.handle(input, at: now, into: &effects)
        note(effects)
    }

    /// Lets time pass, and wakes the machine at its deadlines.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let deadline = machine.deadline, deadline <= end {
            now = max(now, deadline)
            var effects: [GraphQLMachine.Effect] = []
            machine.wake(at: now, into: &effects)
            note(effects)
        }
        now = end
    }

    private mutating func note(_ effects: [GraphQLMachine.Effect]) {
        for effect in effects {
            switch effect {
            case .send(let message): sent.append(message)
            case .end(let end): ends.append(end)
            case .event(let event): events.append(event)
            case .ready: readies += 1
            case .connect: connects += 1
            }
        }
    }

    mutating func connect(_ greeting: GraphQLGreeting = GraphQLGreeting()) {
        handle(.opened(greeting))
        handle(.received(.acknowledged(payload: nil)))
    }

    mutating func lose(_ code: UInt16? = nil, reason: String = "", unsent: [GraphQLRequest] = []) {
        handle(.lost(unsent: unsent, close: code.map { CloseFrame(CloseCode(rawValue: $0), reason: reason) }))
    }

    mutating func begin(_ number: UInt64, _ kind: PendingOperation.Kind = .subscription, within patience: Duration? = nil) {
        handle(.command(.begin(RequestID(number), PendingOperation(kind, payload: Self.payload(number)), patience: patience)))
    }

    mutating func next(_ number: UInt64, _ data: String = "1", errors: [GraphQLError] = []) {
        handle(.received(.next(RequestID(number), GraphQLResult(data: Array(data.utf8), errors: errors))))
    }

    mutating func takeSent() -> [GraphQLRequest] {
        defer { sent = [] }
        return sent
    }

    mutating func takeEvents() -> [GraphQLMachine.Event] {
        defer { events = [] }
        return events
    }

    static func payload(_ number: UInt64) -> [UInt8] { Array("{\"query\":\"\(number)\"}".utf8) }
    static func subscribe(_ number: UInt64) -> GraphQLRequest { .subscribe(RequestID(number), payload: payload(number)) }
    static func event(_ number: UInt64, _ content: GraphQLMachine.Event.Content, isLast: Bool = true) -> GraphQLMachine.Event {
        GraphQLMachine.Event(request: RequestID(number), content: content, isLast: isLast)
    }
}

/// The rules of a GraphQL client, one by one.
@Suite struct GraphQLMachineTests {
    private typealias Bench = GraphQLBench
    private static let one = GraphQLResult(data: Array("1".utf8))

    // MARK: - The connection

    @Test func `the first message carries the payload, and nothing follows before the acknowledgement`() {
        var bench = Bench()
        bench.begin(1)
        bench.handle(.opened(GraphQLGreeting(payload: Array("{}".utf8))))
        #expect(bench.takeSent() == [.initialize(payload: Array("{}".utf8))])
        #expect(bench.readies == 0)
        bench.handle(.received(.acknowledged(payload: Array("7".utf8))))
        #expect(bench.takeSent() == [Bench.subscribe(1)])
        #expect(bench.readies == 1)
        #expect(bench.machine.acknowledgement == Array("7".utf8))
        // A second one begins nothing.
        bench.handle(.received(.acknowledged(payload: nil)))
        #expect(bench.readies == 1 && bench.takeSent() == [])
    }

    @Test func `a ping is answered with its payload, also before the acknowledgement`() {
        var bench = Bench()
        bench.handle(.opened(GraphQLGreeting()))
        _ = bench.takeSent()
        bench.handle(.received(.ping(payload: Array("{\"a\":1}".utf8))))
        #expect(bench.takeSent() == [.pong(payload: Array("{\"a\":1}".utf8))])
        #expect(bench.ends == [])
    }

    @Test func `a result before the acknowledgement ends the connection with 4400`() {
        var bench = Bench()
        bench.begin(1)
        bench.handle(.opened(GraphQLGreeting()))
        bench.next(1)
        #expect(bench.ends == [.reject(.badRequest, reason: "the server sent a result before it acknowledged the connection")])
        #expect(bench.events == [])
    }

    @Test func `a server that does not acknowledge is left with 4504`() {
        var bench = Bench { $0.acknowledgement = .seconds(3) }
        bench.handle(.opened(GraphQLGreeting()))
        bench.pass(.seconds(2))
        #expect(bench.ends == [])
        bench.pass(.seconds(1))
        #expect(
            bench.ends == [.reject(CloseCode(rawValue: 4504), reason: "the server did not acknowledge the connection in time")])
        bench.pass(.seconds(60))
        #expect(bench.ends.count == 1)
    }

    @Test func `an invalid message ends the connection with 4400`() {
        var bench = Bench.ready()
        bench.handle(.undecodable("bad"))
        #expect(bench.ends == [.reject(.badRequest, reason: "an invalid message: bad")])
    }

    @Test func `a silent server gets a ping, and is left if it does not answer`() {
        var bench = Bench.ready { ($0.pingInterval, $0.pong) = (.seconds(20), .seconds(5)) }
        bench.pass(.seconds(20))
        #expect(bench.takeSent() == [.ping])
        bench.pass(.seconds(2))
        bench.handle(.received(.pong))
        #expect(bench.machine.roundTrip == .seconds(2))
        bench.pass(.seconds(25))
        #expect(bench.takeSent() == [.ping])
        #expect(bench.ends == [.cut(reason: "the server answered no ping")])
    }

    @Test func `no ping is sent in the legacy protocol, or if the app wants none`() {
        var legacy = Bench()
        legacy.connect(GraphQLGreeting(hasPings: false))
        _ = legacy.takeSent()
        legacy.pass(.seconds(3600))
        #expect(legacy.takeSent() == [] && legacy.ends == [])
        var without = Bench.ready { $0.pingInterval = nil }
        without.pass(.seconds(3600))
        #expect(without.takeSent() == [] && without.ends == [])
    }

    @Test func `while reading is paused, silence is not the server's fault`() {
        var bench = Bench.ready()
        bench.handle(.paused)
        bench.pass(.seconds(3600))
        #expect(bench.takeSent() == [] && bench.ends == [])
        bench.handle(.resumed)
        bench.pass(.seconds(25))
        #expect(bench.takeSent() == [.ping])
    }

    @Test func `while reading is paused, the acknowledgement may be there already`() {
        var bench = Bench()
        bench.handle(.opened(GraphQLGreeting()))
        bench.handle(.paused)
        bench.pass(.seconds(3600))
        #expect(bench.ends == [])
    }

    // MARK: - Operations

    @Test func `a subscription gives its results until the server completes it`() {
        var bench = Bench.ready()
        bench.begin(1)
        bench.next(1)
        bench.next(1)
        bench.handle(.received(.completed(RequestID(1))))
        #expect(
            bench.takeEvents() == [
                Bench.event(1, .next(Self.one), isLast: false), Bench.event(1, .next(Self.one), isLast: false), Bench.event(1, .completed),
            ])
        bench.next(1)
        bench.handle(.received(.completed(RequestID(1))))
        bench.handle(.received(.failed(RequestID(1), [])))
        #expect(bench.takeEvents() == [] && bench.ends == [])
        #expect(bench.takeSent() == [Bench.subscribe(1)])
    }

    @Test func `a query ends with its first result`() {
        var bench = Bench.ready()
        bench.begin(1, .query)
        bench.next(1)
        bench.handle(.received(.completed(RequestID(1))))
        #expect(bench.takeEvents() == [Bench.event(1, .next(Self.one))])
        #expect(bench.takeSent() == [Bench.subscribe(1)])
    }

    @Test func `errors of the server end the operation`() {
        var bench = Bench.ready()
        bench.begin(1)
        bench.handle(.received(.failed(RequestID(1), [GraphQLError("no")])))
        #expect(bench.takeEvents() == [Bench.event(1, .failed(.errors([GraphQLError("no")])))])
    }

    @Test func `an operation that the app ends is completed once`() {
        var bench = Bench.ready()
        bench.begin(1)
        bench.handle(.command(.cancel(RequestID(1))))
        bench.handle(.command(.cancel(RequestID(1))))
        #expect(bench.takeSent() == [Bench.subscribe(1), .complete(RequestID(1))])
        #expect(bench.takeEvents() == [])
        bench.lose()
        bench.begin(2)
        bench.handle(.command(.cancel(RequestID(2))))
        bench.connect()
        #expect(bench.takeSent() == [.initialize(payload: nil)])
    }

    @Test func `an operation without an answer in time is completed, and fails`() {
        var bench = Bench.ready()
        bench.begin(1, .query, within: .seconds(5))
        bench.pass(.seconds(5))
        #expect(bench.takeEvents() == [Bench.event(1, .failed(.timedOut(mayHaveArrived: true)))])
        #expect(bench.takeSent() == [Bench.subscribe(1), .complete(RequestID(1))])
        bench.lose()
        bench.begin(2, .mutation, within: .seconds(5))
        bench.pass(.seconds(5))
        #expect(bench.takeEvents() == [Bench.event(2, .failed(.timedOut(mayHaveArrived: false)))])
        #expect(bench.takeSent() == [])
    }

    @Test func `too many operations are refused`() {
        var bench = Bench.ready { $0.operationLimit = 1 }
        bench.begin(1)
        bench.begin(2)
        #expect(bench.takeEvents() == [Bench.event(2, .failed(.tooMany))])
    }

    // MARK: - Reconnects

    @Test func `subscriptions are sent again in order, and each tells how long the connection was away`() {
        var bench = Bench.ready()
        bench.begin(1)
        bench.begin(2)
        bench.next(1)
        bench.lose(1006)
        _ = bench.takeSent()
        _ = bench.takeEvents()
        bench.pass(.seconds(3))
        bench.handle(.opened(GraphQLGreeting()))
        bench.lose()
        bench.pass(.seconds(4))
        bench.connect()
        #expect(bench.takeSent() == [.initialize(payload: nil), .initialize(payload: nil), Bench.subscribe(1), Bench.subscribe(2)])
        #expect(
            bench.takeEvents() == [
                Bench.event(1, .gap(.seconds(7)), isLast: false), Bench.event(2, .gap(.seconds(7)), isLast: false),
            ])
        bench.lose()
        bench.connect()
        #expect(bench.takeEvents().map(\.content) == [.gap(.zero), .gap(.zero)])
    }

    @Test func `a subscription that was never sent has no gap`() {
        var bench = Bench.ready()
        bench.begin(1)
        bench.lose(unsent: [Bench.subscribe(1)])
        bench.connect()
        #expect(bench.takeEvents() == [])
    }

    @Test func `a renewed payload replaces the one before`() {
        var bench = Bench.ready()
        bench.begin(1)
        bench.lose()
        _ = bench.takeSent()
        bench.connect(GraphQLGreeting(renewed: [RequestID(1): Array("{}".utf8)]))
        #expect(bench.takeSent() == [.initialize(payload: nil), .subscribe(RequestID(1), payload: Array("{}".utf8))])
    }

    @Test func `a query without an answer is sent again, a mutation never`() {
        var bench = Bench.ready()
        bench.begin(1, .query)
        bench.begin(2, .mutation)
        bench.begin(3, .mutation)
        bench.lose(unsent: [Bench.subscribe(3)])
        #expect(bench.takeEvents() == [Bench.event(2, .failed(.lost))])
        _ = bench.takeSent()
        bench.connect()
        #expect(bench.takeSent() == [.initialize(payload: nil), Bench.subscribe(1), Bench.subscribe(3)])
        bench.next(1)
        bench.next(3)
        #expect(bench.takeEvents() == [Bench.event(1, .next(Self.one)), Bench.event(3, .next(Self.one))])
    }

    // MARK: - Refusals

    @Test(arguments: [4401, 4403, 1000, 1008] as [UInt16])
    func `a server that refuses the connection three times in a row is left for good`(code: UInt16) {
        var bench = Bench()
        bench.begin(1)
        for attempt in 1...3 {
            #expect(bench.ends == [], "attempt \(attempt)")
            bench.handle(.opened(GraphQLGreeting()))
            bench.lose(code, reason: "bad token")
        }
        #expect(bench.ends == [.stop])
        #expect(bench.takeEvents() == [Bench.event(1, .failed(.refused("bad token")))])
    }

    @Test func `an acknowledgement forgets the refusals before it`() {
        var bench = Bench()
        for _ in 1...5 {
            bench.handle(.opened(GraphQLGreeting()))
            bench.lose(4403)
            bench.connect()
            bench.lose(4403)
        }
        #expect(bench.ends == [])
    }

    @Test func `connection_error of the legacy protocol is a refusal`() {
        var bench = Bench { $0.refusals = 2 }
        bench.begin(1)
        bench.handle(.opened(GraphQLGreeting(hasPings: false)))
        bench.handle(.received(.refused([GraphQLError("bad token")])))
        #expect(bench.ends == [.reject(.normal, reason: "bad token")])
        bench.lose(1000)
        bench.handle(.opened(GraphQLGreeting(hasPings: false)))
        bench.handle(.received(.refused([])))
        #expect(bench.ends.last == .stop)
        #expect(bench.takeEvents() == [Bench.event(1, .failed(.refused("the server refused the connection")))])
    }

    // MARK: - A bad operation

    @Test func `a close with 4400 fails the only operation that the server has not answered`() {
        var bench = Bench.ready()
        bench.begin(1)
        bench.next(1)
        _ = bench.takeEvents()
        bench.begin(2)
        bench.lose(4400, reason: "Syntax Error")
        let close = CloseFrame(.badRequest, reason: "Syntax Error")
        #expect(bench.takeEvents() == [Bench.event(2, .failed(.rejected(close)))])
        _ = bench.takeSent()
        bench.connect()
        #expect(bench.takeSent() == [.initialize(payload: nil), Bench.subscribe(1)])
    }

    @Test func `of several suspects, one at a time is sent with a ping, until the bad one is found`() {
        var bench = Bench.ready()
        for number in 1...4 as ClosedRange<UInt64> { bench.begin(number) }
        bench.next(1)
        bench.lose(4400)
        _ = (bench.takeSent(), bench.takeEvents())
        bench.connect()
        // The first is known to be good.
        #expect(bench.takeSent() == [.initialize(payload: nil), Bench.subscribe(1), Bench.subscribe(2), .ping])
        for number in 5...6 as ClosedRange<UInt64> { bench.begin(number) }
        // The server does not know this one.
        bench.handle(.command(.cancel(RequestID(6))))
        #expect(bench.takeSent() == [])
        bench.handle(.received(.pong))
        #expect(bench.takeSent() == [Bench.subscribe(3), .ping])
        bench.lose(4400)
        #expect(bench.takeEvents().filter(\.isLast) == [Bench.event(3, .failed(.rejected(CloseFrame(.badRequest))))])
        bench.connect()
        // The fourth has not been answered either.
        #expect(bench.takeSent() == [.initialize(payload: nil), Bench.subscribe(1), Bench.subscribe(2), Bench.subscribe(4), .ping])
        bench.handle(.received(.pong))
        #expect(bench.takeSent() == [Bench.subscribe(5), .ping])
    }

    @Test func `an operation that the connection had not taken is no suspect`() {
        var bench = Bench.ready()
        for number in 1...2 as ClosedRange<UInt64> { bench.begin(number) }
        bench.lose(4400, unsent: [Bench.subscribe(2)])
        #expect(bench.takeEvents() == [Bench.event(1, .failed(.rejected(CloseFrame(.badRequest))))])
        _ = bench.takeSent()
        bench.connect()
        #expect(bench.takeSent() == [.initialize(payload: nil), Bench.subscribe(2)])
    }

    @Test func `a suspect passes by its first answer, or when its ping is not answered in time`() {
        var bench = Bench.ready { $0.pingInterval = nil }
        for number in 1...3 as ClosedRange<UInt64> { bench.begin(number) }
        bench.lose(4400)
        _ = bench.takeSent()
        bench.connect()
        #expect(bench.takeSent() == [.initialize(payload: nil), Bench.subscribe(1), .ping])
        bench.next(1)
        #expect(bench.takeSent() == [Bench.subscribe(2), .ping])
        bench.pass(.seconds(10))
        #expect(bench.takeSent() == [Bench.subscribe(3), .ping])
        bench.handle(.command(.cancel(RequestID(3))))
        bench.begin(4)
        #expect(bench.takeSent() == [.complete(RequestID(3)), Bench.subscribe(4)])
    }

    @Test func `a suspect does not pass because another operation ends`() {
        var bench = Bench.ready { $0.pingInterval = nil }
        for number in 1...2 as ClosedRange<UInt64> { bench.begin(number) }
        bench.begin(3, .query, within: .seconds(5))
        bench.lose(4400)
        _ = bench.takeSent()
        bench.connect()
        #expect(bench.takeSent() == [.initialize(payload: nil), Bench.subscribe(1), .ping])
        bench.pass(.seconds(9))
        #expect(bench.takeSent() == [])
        bench.pass(.seconds(1))
        #expect(bench.takeSent() == [Bench.subscribe(2), .ping])
    }

    // MARK: - On demand

    @Test func `a client on demand connects with the first operation`() {
        var bench = Bench { $0.isLazy = true }
        bench.begin(1)
        bench.begin(2)
        #expect(bench.connects == 1)
    }

    @Test func `an idle connection is closed, and the next operation connects again`() {
        var bench = Bench.ready { ($0.idle, $0.pingInterval) = (.seconds(30), nil) }
        bench.pass(.seconds(20))
        bench.begin(1)
        bench.pass(.seconds(60))
        #expect(bench.ends == [])
        bench.handle(.command(.cancel(RequestID(1))))
        bench.pass(.seconds(29))
        #expect(bench.ends == [])
        bench.pass(.seconds(1))
        #expect(bench.ends == [.disconnect])
        bench.lose(1000)
        #expect(bench.ends == [.disconnect] && bench.connects == 0)
        bench.begin(2)
        #expect(bench.connects == 1)
        _ = bench.takeSent()
        bench.connect()
        #expect(bench.takeSent() == [.initialize(payload: nil), Bench.subscribe(2)])
        #expect(bench.takeEvents() == [])
    }

    @Test func `a connection that was never used is idle from its acknowledgement on`() {
        var bench = Bench.ready { ($0.idle, $0.pingInterval) = (.seconds(30), nil) }
        bench.pass(.seconds(29))
        #expect(bench.ends == [])
        bench.pass(.seconds(1))
        #expect(bench.ends == [.disconnect])
    }
}
