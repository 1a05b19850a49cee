import Dispatch
import Holdfast
import HoldfastProtocols
import HoldfastTesting
import MachineCore
import ProtocolCore
import ProtocolStage
import Testing
import WebSocketCore
import WebSocketRuntime

@Suite(.timeLimit(.minutes(1))) struct ProtocolClientTests {
    private typealias Client = ProtocolClient<EchoRules>
    private let stage = ProtocolStage(timesConnections: true)
    private let pauses = Changes()
    private var clock: ManualClock { stage.clock }

    private func client() -> Client {
        Client(EchoRules(pauses: pauses), over: stage.socket, clock: clock) { _ in EchoCoding() }
    }

    /// The server's end of the next connection, after the client's hello.
    private func peer(isReady: Bool = true) async throws -> (MemoryTransport, WebSocketMessages.AsyncIterator) {
        let peer = try await stage.answer()
        var messages = WebSocketConnection(peer).messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("hello"))
        if isReady { try await peer.send(.text("welcome")) }
        return (peer, messages)
    }

    private func pause(_ duration: Duration = .seconds(1)) async { await stage.pass(duration) }

    @Test func `a wait that the machine requests after the loss is respected`() async throws {
        let client = client()
        async let answer = client.request { .ask($0, "a") }
        let (peer, _) = try await peer()
        for text in ["rest", "-1"] { try await peer.send(.text(text)) }
        _ = try await answer
        peer.cut()
        for await state in client.states { if case .waiting = state { break } }
        await pause()
        // The socket did not learn of the wait yet, so this connection is ended before any message.
        let early = try await stage.answer()
        var messages = WebSocketConnection(early).messages.makeAsyncIterator()
        #expect(try await messages.next() == nil)
        let before = clock.now
        await pause(.seconds(29))
        _ = try await self.peer()
        #expect(clock.now.offset - before.offset == .seconds(29))
    }

    // MARK: - Threads

    @Test func `a request that is answered at once does not leave its actor`() async throws {
        let client = ProtocolClient(PromptRules(), over: stage.socket, clock: clock) { _ in EchoCoding() }
        let visitor = Visitor()
        #expect(try await visitor.ask(client) == 0)
    }

    // MARK: - Requests

    @Test func `a request gets its last event`() async throws {
        let client = client()
        async let answer = client.request { .ask($0, "a") }
        var (peer, messages) = try await peer()
        #expect(try await messages.next() == .text("1 a"))
        for text in ["+1", "-9", "news", "-1"] { try await peer.send(.text(text)) }
        #expect(try await answer == EchoRules.Event(request: RequestID(1), text: "-1"))
    }

    @Test func `each request has its own id`() async throws {
        let client = client()
        async let one = client.request { .ask($0, "a") }
        async let other = client.request { .ask($0, "b") }
        var (peer, messages) = try await peer()
        _ = (try await messages.next(), try await messages.next())
        for text in ["-2", "-1"] { try await peer.send(.text(text)) }
        #expect(try await Set([one.text, other.text]) == ["-1", "-2"])
    }

    @Test func `a cancelled request fails at once, and the machine gets the cancel command`() async throws {
        let client = client()
        let task = Task { try await client.request({ .ask($0, "a") }, cancel: { .cancel($0) }) }
        var (_, messages) = try await peer()
        _ = try await messages.next()
        task.cancel()
        await #expect(throws: WebSocketError.self) { try await task.value }
        #expect(client.read(\.cancelled) == [RequestID(1)])
    }

    @Test func `a request of a cancelled task does not start`() async throws {
        let client = client()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            do throws(WebSocketError) { _ = try await client.request { .ask($0, "a") } } catch { return error.code == .cancelled }
            return false
        }
        #expect(await task.value)
        #expect(client.read(\.cancelled) == [])
    }

    @Test func `pending and later requests fail when the client is closed`() async throws {
        let client = client()
        async let answer = code { _ = try await client.request { .ask($0, "a") } }
        var (_, messages) = try await peer()
        _ = try await messages.next()
        await client.close()
        #expect(await answer == .closed)
        #expect(await code { _ = try await client.request { .ask($0, "b") } } == .closed)
        #expect(await code { try await client.ready() } == .closed)
        var events = client.stream({ .ask($0, "c") }, cancel: { .cancel($0) }).makeAsyncIterator()
        #expect(try await events.next() == nil)
    }

    @Test func `when the machine stops, the socket closes and pending requests end`() async throws {
        let client = client()
        async let answer = code { _ = try await client.request { .ask($0, "a") } }
        let (_, messages) = try await peer()
        var rest = messages
        _ = try await rest.next()
        client.perform(.stop)
        #expect(await answer == .closed)
        for await state in client.states { if case .closed(nil) = state { return } }
        Issue.record("the client did not become closed")
    }

    private func code(_ body: () async throws -> Void) async -> WebSocketError.Code? {
        do { try await body() } catch { return (error as? WebSocketError)?.code }
        return nil
    }

    @Test func `a late ephemeral message is dropped`() async throws {
        var configuration = WebSocketConfiguration()
        (configuration.limits.sendBuffer, configuration.limits.receiveBuffer) = (64, 64)
        let stage = ProtocolStage(configuration: configuration, timesConnections: true)
        let client = Client(EchoRules(), over: stage.socket, clock: stage.clock) { _ in EchoCoding() }
        let peer = try await stage.answer()
        try await peer.send(.text("welcome"))
        try await client.ready()
        peer.stall()
        for _ in 0..<200 { client.perform(.ask(RequestID(1), String(repeating: "x", count: 100))) }
        client.perform(.ask(RequestID(2), "~"))
        client.perform(.ask(RequestID(3), "last"))
        peer.resume()
        var messages = WebSocketConnection(peer).messages.makeAsyncIterator()
        var last = Message.text("")
        while last != .text("3 last"), let message = try await messages.next() {
            #expect(message != .text("2 ~"))
            last = message
        }
        #expect(last == .text("3 last"))
    }

    // MARK: - Streams

    @Test func `a stream gets the events of its request up to the last`() async throws {
        let client = client()
        let events = client.stream({ .ask($0, "a") }, cancel: { .cancel($0) })
        let (peer, _) = try await peer()
        for text in ["+1", "+1", "+2", "news", "-1", "+1"] { try await peer.send(.text(text)) }
        var texts: [String] = []
        for try await event in events { texts.append(event.text) }
        #expect(texts == ["+1", "+1", "-1"])
    }

    @Test func `when the last reference to a stream is gone, the machine gets the cancel command`() async throws {
        let client = client()
        var events: ProtocolEvents? = client.stream({ .ask($0, "a") }, cancel: { .cancel($0) })
        _ = try await peer()
        #expect(client.read(\.cancelled) == [])
        withExtendedLifetime(events) {}
        events = nil
        #expect(client.read(\.cancelled) == [RequestID(1)])
    }

    @Test func `an ended stream is not cancelled`() async throws {
        let client = client()
        var events: ProtocolEvents? = client.stream({ .ask($0, "a") }, cancel: { .cancel($0) })
        let (peer, _) = try await peer()
        try await peer.send(.text("-1"))
        if let stream = events { for try await _ in stream {} }
        events = nil
        #expect(client.read(\.cancelled) == [])
    }

    @Test func `every subscriber gets the events without a request`() async throws {
        let client = client()
        let (one, other) = (client.events(), client.events(delivery: .latest))
        let (peer, _) = try await peer()
        for text in ["a", "-1", "b"] { try await peer.send(.text(text)) }
        await peer.closeAndWait(for: client)
        var texts: [String] = []
        for try await event in one { texts.append(event.text) }
        #expect(texts == ["a", "b", "lost 0"])
        var newest = other.makeAsyncIterator()
        #expect(try await newest.next()?.text == "lost 0")
        #expect(try await newest.next() == nil)
    }

    @Test func `reading pauses while a consumer is full, and resumes when it has taken some events`() async throws {
        let client = client()
        let events = client.events(delivery: .everyMessage(capacity: 2))
        let (peer, _) = try await peer()
        async let answer = client.request { .ask($0, "a") }
        for number in 0..<10 { try await peer.send(.text("news \(number)")) }
        try await peer.send(.text("-1"))
        var iterator = events.makeAsyncIterator()
        for number in 0..<10 { #expect(try await iterator.next()?.text == "news \(number)") }
        #expect(try await answer.text == "-1")
    }

    @Test func `a full consumer that is released blocks no other`() async throws {
        let client = client()
        var events: ProtocolEvents? = client.events(delivery: .everyMessage(capacity: 1))
        var (peer, messages) = try await peer()
        async let answer = client.request { .ask($0, "a") }
        #expect(try await messages.next() == .text("1 a"))
        for number in 0..<10 { try await peer.send(.text("news \(number)")) }
        try await peer.send(.text("-1"))
        withExtendedLifetime(events) {}
        events = nil
        #expect(try await answer.text == "-1")
    }

    @Test func `the last event of a full stream that is not read blocks no other`() async throws {
        let client = client()
        var events: ProtocolEvents? = client.stream(delivery: .everyMessage(capacity: 1), { .ask($0, "a") }, cancel: { .cancel($0) })
        var (peer, messages) = try await peer()
        #expect(try await messages.next() == .text("1 a"))
        try await peer.send(.text("-1"))
        withExtendedLifetime(events) {}
        events = nil
        async let answer = client.request { .ask($0, "b") }
        #expect(try await messages.next() == .text("2 b"))
        try await peer.send(.text("-2"))
        #expect(try await answer.text == "-2")
    }

    @Test func `a full consumer that waits for an answer gets it`() async throws {
        let client = client()
        let events = client.events(delivery: .everyMessage(capacity: 2))
        var (peer, messages) = try await peer()
        for number in 0..<10 { try await peer.send(.text("news \(number)")) }
        await pauses.until { client.read(\.hasPaused) }
        async let answer = client.request { .ask($0, "a") }
        #expect(try await messages.next() == .text("1 a"))
        try await peer.send(.text("-1"))
        #expect(try await answer.text == "-1")
        var iterator = events.makeAsyncIterator()
        for number in 0..<10 { #expect(try await iterator.next()?.text == "news \(number)") }
    }

    @Test func `the socket ends although a consumer is full, and earlier events are delivered`() async throws {
        let client = client()
        let events = client.events(delivery: .everyMessage(capacity: 2))
        let (peer, _) = try await peer()
        for number in 0..<5 { try await peer.send(.text("news \(number)")) }
        await pauses.until { client.read(\.hasPaused) }
        await client.socket.close()
        for await state in client.states { if case .closed = state { break } }
        var texts: [String] = []
        for try await event in events { texts.append(event.text) }
        #expect(texts == ["news 0", "news 1", "news 2", "news 3", "news 4", "lost 0"])
    }

    @Test func `a cancelled task closes its client with 1001`() async throws {
        let client = client()
        let (peer, _) = try await peer()
        try await client.ready()
        let running = Task { try await client.run() }
        running.cancel()
        #expect(try await peer.ended().get().received?.code == .goingAway)
        try await running.value
        guard case .closed(nil) = client.state else { throw CancellationError() }
    }

    // MARK: - Connections

    @Test func `messages after the machine ended the connection are ignored`() async throws {
        let client = client()
        let events = client.events()
        let (peer, _) = try await peer()
        for text in ["a", "bad", "b", "welcome"] { try await peer.send(.text(text)) }
        await pause()
        let (second, _) = try await self.peer()
        try await second.send(.text("c"))
        var iterator = events.makeAsyncIterator()
        for text in ["a", "lost 0", "c"] { #expect(try await iterator.next()?.text == text) }
    }

    @Test func `the client is ready when the machine says so, and waits after a loss`() async throws {
        let client = client()
        let (peer, _) = try await peer(isReady: false)
        #expect(client.state.isConnecting)
        try await peer.send(.text("welcome"))
        try await client.ready()
        #expect(client.read(\.isReady))
        var states = client.states.makeAsyncIterator()
        #expect(await states.next()?.isReady == true)
        peer.cut()
        #expect(await states.next()?.isWaiting == true)
        await pause()
        _ = try await self.peer()
        try await client.ready()
    }

    @Test func `waiting for readiness ends at its timeout`() async throws {
        let client = client()
        async let outcome = code { try await client.ready(within: .seconds(7)) }
        _ = try await peer(isReady: false)
        await pause(.seconds(7))
        #expect(await outcome == .timedOut)
    }

    @Test func `connections that the machine rejects are followed by growing waits, also if they were ready`() async throws {
        let client = client()
        for wait in [1, 2, 4] {
            let (peer, _) = try await peer()
            try await client.ready()
            try await peer.send(.text("bad"))
            #expect(client.closure == nil)
            await pause(.seconds(wait))
            #expect(client.complaint == "that was bad")
        }
    }

    @Test func `a ready connection that is lost is followed by the next one soon, each time`() async throws {
        let client = client()
        for _ in 0..<4 {
            let (peer, _) = try await peer()
            try await client.ready()
            peer.cut()
            await pause(.seconds(1))
        }
    }

    @Test func `undecodable messages are reported to the machine, and unknown ones are ignored`() async throws {
        let client = client()
        let events = client.events()
        let (peer, _) = try await peer()
        try await peer.send(.text("later version"))
        try await peer.send(.text("a"))
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next()?.text == "a")
        try await peer.send(.binary([1]))
        for await state in client.states { if case .waiting = state { break } }
        #expect(client.complaint == "Unreadable()")
    }

    @Test func `a connection whose coding cannot be created ends with that error`() async throws {
        let client = Client(EchoRules(), over: stage.socket, clock: clock) { opening throws(ConnectionEnd) in
            guard opening.subprotocol == "echo" else { throw .stop }
            return EchoCoding()
        }
        _ = try await stage.answer()
        #expect(await code { try await client.ready() } == .closed)
    }

    @Test func `the client ends with its last reference`() async throws {
        var client: Client? = client()
        let (peer, _) = try await peer()
        weak let gone = client
        withExtendedLifetime(client) {}
        client = nil
        #expect(gone == nil)
        // The test holds the socket, so the connection stays. The machine gets no more messages.
        try await peer.send(.text("bad"))
        #expect(stage.socket.isConnected)
    }
}

extension ProtocolState {
    fileprivate var isConnecting: Bool { if case .connecting = self { true } else { false } }
    fileprivate var isReady: Bool { if case .ready = self { true } else { false } }
    fileprivate var isWaiting: Bool { if case .waiting = self { true } else { false } }
}

extension MemoryTransport {
    /// Closes with 1000, which ends the client.
    fileprivate func closeAndWait(for client: ProtocolClient<EchoRules>) async {
        _ = await close(CloseFrame(.normal))
        for await state in client.states { if case .closed = state { return } }
    }
}

/// Answers each command at once.
private struct PromptRules: ProtocolMachine {
    typealias Received = String
    typealias Sent = String
    typealias Command = RequestID
    struct Event: ProtocolEvent {
        var request: RequestID?
        let isLast = true
    }
    var deadline: Moment? { nil }
    func wake(at now: Moment, into effects: inout [Effect]) {}
    func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        if case .command(let id) = input { effects.append(.event(Event(request: id))) }
    }
}

/// An actor whose executor counts its jobs: each return to the actor is one.
private actor Visitor {
    private final class Executor: SerialExecutor {
        private let queue = DispatchQueue(label: "visitor")
        let jobs = LockedValue(0)

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            jobs.withLockedValue { $0 += 1 }
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }
    private let executor = Executor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Asks a few times, and returns how many jobs that took.
    func ask(_ client: ProtocolClient<PromptRules>) async throws -> Int {
        let before = executor.jobs.withLockedValue { $0 }
        for _ in 0..<10 { _ = try await client.request { $0 } }
        return executor.jobs.withLockedValue { $0 } - before
    }
}
