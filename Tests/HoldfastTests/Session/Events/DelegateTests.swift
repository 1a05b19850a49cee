import Dispatch
import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing
import WebSocketCore

/// The delegate of a socket, for code that is not async.
@Suite(.timeLimit(.minutes(1))) struct DelegateTests {
    /// Records the calls, and whether they came on the given queue.
    final class RecordingDelegate: WebSocketDelegate, Sendable {
        private let recorded = LockedValue<[String]>([])
        private let changes: AsyncStream<String>
        private let change: AsyncStream<String>.Continuation
        let queueKey: DispatchSpecificKey<Bool>?

        init(queueKey: DispatchSpecificKey<Bool>? = nil) {
            self.queueKey = queueKey
            (changes, change) = AsyncStream.makeStream()
        }

        var lines: [String] { recorded.withLockedValue(\.self) }

        private func handle(_ word: String) {
            let isOnQueue = queueKey.map { DispatchQueue.getSpecific(key: $0) == true } ?? true
            let word = isOnQueue ? word : "\(word), elsewhere"
            recorded.withLockedValue { $0.append(word) }
            change.yield(word)
        }

        /// Waits for this call.
        func waitFor(_ word: String) async { for await other in changes where other == word { return } }

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
    /// A delegate that implements no method.
    final class DelegateWithoutMethods: WebSocketDelegate {}

    private let queue = DispatchQueue(label: "delegate")
    private let key = DispatchSpecificKey<Bool>()

    @Test func `a delegate gets everything in order on its queue, and nothing after the end`() async throws {
        queue.setSpecific(key: key, value: true)
        let (stage, delegate) = (Stage(), RecordingDelegate(queueKey: key))
        let adapter = WebSocketDelegateAdapter(stage.socket, delegate: delegate, queue: queue)
        let peer = try await stage.accept()
        for number in 1...3 { try await peer.send(.text("\(number)")) }
        await delegate.waitFor(#"text, 1 byte: "3""#)
        peer.cut()
        await stage.pause()
        let next = try await stage.accept()
        await delegate.waitFor("opened 2")
        _ = await next.close(CloseFrame(.normal))
        await delegate.waitFor("closed in peace")
        queue.sync {}
        #expect(
            delegate.lines == [
                "connecting", "opened 1", #"text, 1 byte: "1""#, #"text, 1 byte: "2""#, #"text, 1 byte: "3""#,
                "reconnects as 2 after 1.0 seconds: lost",
                "connecting", "opened 2", "closed in peace",
            ])
        withExtendedLifetime(adapter) {}
    }

    @Test func `by default the delegate is called on the main queue`() async throws {
        DispatchQueue.main.setSpecific(key: key, value: true)
        let (stage, delegate) = (Stage(), RecordingDelegate(queueKey: key))
        let adapter = WebSocketDelegateAdapter(stage.socket, delegate: delegate)
        await stage.socket.close()
        await delegate.waitFor("closed in peace")
        withExtendedLifetime(adapter) {}
    }

    @Test func `a delegate whose adapter is released on the queue gets no more calls, and other consumers continue`() async throws {
        let (stage, delegate) = (Stage(), RecordingDelegate())
        let adapter = LockedValue<WebSocketDelegateAdapter?>(WebSocketDelegateAdapter(stage.socket, delegate: delegate, queue: queue))
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        let count = queue.sync {
            adapter.withLockedValue { $0 = nil }
            return delegate.lines.count
        }
        for number in 1...100 {
            try await peer.send(.text("\(number)"))
            #expect(await reader.next() == .message(.text("\(number)")))
        }
        queue.sync {}
        #expect(delegate.lines.count == count)
    }

    @Test func `the adapter does not retain its delegate`() async throws {
        let stage = Stage()
        var delegate: RecordingDelegate? = RecordingDelegate()
        weak let trace = delegate
        let adapter = WebSocketDelegateAdapter(stage.socket, delegate: delegate!, queue: queue)
        await delegate?.waitFor("connecting")
        delegate = nil
        queue.sync {}
        #expect(trace == nil)
        let peer = try await stage.accept()
        var reader = stage.eventReader()
        try await peer.send(.text("nobody hears"))
        while let event = await reader.next(), event != .message(.text("nobody hears")) {}
        withExtendedLifetime(adapter) {}
    }

    @Test func `the adapter retains the socket`() async throws {
        let (server, delegate) = (MemoryServer(), RecordingDelegate())
        var adapter: WebSocketDelegateAdapter? = WebSocketDelegateAdapter(
            WebSocket(clock: ManualClock(), connect: server.connect), delegate: delegate, queue: queue)
        let peer = try #require(await server.nextAttempt()).accept()
        try await peer.send(.text("alive"))
        await delegate.waitFor(#"text, 5 bytes: "alive""#)
        #expect(adapter != nil)
        adapter = nil
        guard case .failure(let error) = await peer.ended() else { throw CancellationError() }
        #expect(error.code == .lost)
    }

    @Test func `a delegate may implement no method`() async throws {
        let (stage, delegate) = (Stage(), DelegateWithoutMethods())
        let adapter = WebSocketDelegateAdapter(stage.socket, delegate: delegate, queue: queue)
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        try await peer.send(.text("a"))
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .message(.text("a")))
        await stage.socket.close()
        #expect(await reader.next() == .closed(nil))
        withExtendedLifetime((adapter, delegate)) {}
    }
}
