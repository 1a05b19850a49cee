import Dispatch
import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing
import WebSocketCore

/// The delegate of a socket, for code that is not async.
@Suite(.timeLimit(.minutes(1))) struct DelegateTests {
    /// Writes down what it hears, and where.
    final class DelegateEar: WebSocketDelegate, Sendable {
        private let heard = LockedValue<[String]>([])
        private let changes: AsyncStream<String>
        private let announce: AsyncStream<String>.Continuation
        let place: DispatchSpecificKey<Bool>?

        init(place: DispatchSpecificKey<Bool>? = nil) {
            self.place = place
            (changes, announce) = AsyncStream.makeStream()
        }

        var words: [String] { heard.withLockedValue(\.self) }

        private func handle(_ word: String) {
            let isInPlace = place.map { DispatchQueue.getSpecific(key: $0) == true } ?? true
            let word = isInPlace ? word : "\(word), elsewhere"
            heard.withLockedValue { $0.append(word) }
            announce.yield(word)
        }

        /// Waits until it has heard this.
        func hears(_ word: String) async { for await other in changes where other == word { return } }

        func webSocket(_ socket: WebSocket, didOpen opening: Opening) { handle("opened \(opening.attempt)") }
        func webSocket(_ socket: WebSocket, didReceive message: Message) { handle("\(message)") }
        func webSocket(_ socket: WebSocket, willReconnectAs attempt: Int, after delay: Duration, because cause: WebSocketError) {
            handle("reconnects as \(attempt) after \(delay): \(cause.code)")
        }
        func webSocket(_ socket: WebSocket, didChangeTo state: WebSocketState) {
            if case .connecting = state { handle("connecting") }
        }
        func webSocket(_ socket: WebSocket, didClose closure: Closure) { handle("closed in \(closure.error == nil ? "peace" : "trouble")") }
    }
    /// Cares for nothing.
    final class DelegateWithoutMethods: WebSocketDelegate {}

    private let queue = DispatchQueue(label: "delegate")
    private let here = DispatchSpecificKey<Bool>()

    @Test func `it hears everything in order, on its queue, and nothing after the end`() async throws {
        queue.setSpecific(key: here, value: true)
        let (stage, ear) = (Stage(), DelegateEar(place: here))
        let adapter = WebSocketDelegateAdapter(stage.socket, delegate: ear, queue: queue)
        let peer = try await stage.accept()
        for number in 1...3 { try await peer.send(.text("\(number)")) }
        await ear.hears(#"text, 1 byte: "3""#)
        peer.cut()
        await stage.pause()
        let next = try await stage.accept()
        await ear.hears("opened 2")
        _ = await next.close(CloseFrame(.normal))
        await ear.hears("closed in peace")
        queue.sync {}
        #expect(
            ear.words == [
                "connecting", "opened 1", #"text, 1 byte: "1""#, #"text, 1 byte: "2""#, #"text, 1 byte: "3""#,
                "reconnects as 2 after 1.0 seconds: lost",
                "connecting", "opened 2", "closed in peace",
            ])
        withExtendedLifetime(adapter) {}
    }

    @Test func `on the main queue unless told`() async throws {
        DispatchQueue.main.setSpecific(key: here, value: true)
        let (stage, ear) = (Stage(), DelegateEar(place: here))
        let adapter = WebSocketDelegateAdapter(stage.socket, delegate: ear)
        await stage.socket.close()
        await ear.hears("closed in peace")
        withExtendedLifetime(adapter) {}
    }

    @Test func `released on the queue it is silent at once, and the others go on`() async throws {
        let (stage, ear) = (Stage(), DelegateEar())
        let adapter = LockedValue<WebSocketDelegateAdapter?>(WebSocketDelegateAdapter(stage.socket, delegate: ear, queue: queue))
        var story = stage.story()
        let peer = try await stage.accept()
        #expect(await story.next() == .opened)
        let count = queue.sync {
            adapter.withLockedValue { $0 = nil }
            return ear.words.count
        }
        for number in 1...100 {
            try await peer.send(.text("\(number)"))
            #expect(await story.next() == .message(.text("\(number)")))
        }
        queue.sync {}
        #expect(ear.words.count == count)
    }

    @Test func `it does not keep its delegate`() async throws {
        let stage = Stage()
        var ear: DelegateEar? = DelegateEar()
        weak let trace = ear
        let adapter = WebSocketDelegateAdapter(stage.socket, delegate: ear!, queue: queue)
        await ear?.hears("connecting")
        ear = nil
        queue.sync {}
        #expect(trace == nil)
        let peer = try await stage.accept()
        var story = stage.story()
        try await peer.send(.text("nobody hears"))
        while let chapter = await story.next(), chapter != .message(.text("nobody hears")) {}
        withExtendedLifetime(adapter) {}
    }

    @Test func `it keeps the socket, as long as it is kept`() async throws {
        let (server, ear) = (MemoryServer(), DelegateEar())
        var adapter: WebSocketDelegateAdapter? = WebSocketDelegateAdapter(
            WebSocket(clock: ManualClock(), connect: server.connect), delegate: ear, queue: queue)
        let peer = try #require(await server.nextAttempt()).accept()
        try await peer.send(.text("alive"))
        await ear.hears(#"text, 5 bytes: "alive""#)
        #expect(adapter != nil)
        adapter = nil
        guard case .failure(let error) = await peer.ended() else { throw CancellationError() }
        #expect(error.code == .lost)
    }

    @Test func `a delegate needs no method`() async throws {
        let (stage, delegate) = (Stage(), DelegateWithoutMethods())
        let adapter = WebSocketDelegateAdapter(stage.socket, delegate: delegate, queue: queue)
        var story = stage.story()
        let peer = try await stage.accept()
        try await peer.send(.text("a"))
        #expect(await story.next() == .opened)
        #expect(await story.next() == .message(.text("a")))
        await stage.socket.close()
        #expect(await story.next() == .closed(nil))
        withExtendedLifetime((adapter, delegate)) {}
    }
}
