import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

/// A socket over memory whose connections live by the same manual clock as the socket itself.
struct HeartStage: Sendable {
    let clock = ManualClock()
    let server: MemoryServer
    let socket: WebSocket

    init(
        _ connection: (inout WebSocketConfiguration) -> Void = { _ in }, options configure: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        var (configuration, options) = (WebSocketConfiguration(), WebSocketOptions())
        connection(&configuration)
        options.reconnect = Stage.policy
        configure(&options)
        let server = MemoryServer(configuration: configuration, clock: clock)
        self.server = server
        socket = WebSocket(options, seed: 1, clock: clock) { attempt async throws(WebSocketError) in try await server.connect(attempt) }
    }

    /// Answers the next attempt; the server's end asks nothing by itself.
    func accept() async throws -> MemoryTransport {
        let peer = try #require(await server.nextAttempt()).accept()
        peer.setPingInterval(nil)
        return peer
    }

    /// Waits until somebody sleeps for so long, and lets that pass.
    func pause(of duration: Duration) async {
        while !Task.isCancelled, await clock.nextSleep() != duration {}
        clock.advance(by: duration)
    }

    /// Lets time pass from sleep to sleep, until somebody begins one that is longer than `limit`.
    func lapse(upTo limit: Duration) async {
        while !Task.isCancelled {
            let sleep = await clock.nextSleep()
            if sleep > limit { return }
            clock.advance(by: sleep)
        }
    }

    func story() -> Story { Story(events: socket.events.makeAsyncIterator()) }
}

/// The network, by hand.
final class HeartPaths: PathSource {
    private let stream: AsyncStream<PathWatch.Input>
    private let continuation: AsyncStream<PathWatch.Input>.Continuation
    /// Ends when nobody listens any more.
    let released: AsyncStream<Never>

    init() {
        (stream, continuation) = AsyncStream.makeStream()
        let (released, release) = AsyncStream.makeStream(of: Never.self)
        self.released = released
        continuation.onTermination = { _ in release.finish() }
    }

    func updates() -> AsyncStream<PathWatch.Input> { stream }

    func notify(_ update: PathWatch.Input) { continuation.yield(update) }
}

/// Gives everybody who asks another token: `token-1`, then `token-2`.
final class HeartTokens: Sendable {
    private let count = LockedValue(0)

    func next() -> Credential {
        count.withLockedValue { count in
            count += 1
            return Credential("token-\(count)")
        }
    }
}

/// Keeps the round trips that a connection measured.
final class HeartLog: LinkObserver {
    private let continuation: AsyncStream<Bool>.Continuation
    /// Whether the connection had asked by itself, for each; ends with the log.
    let stream: AsyncStream<Bool>

    init() { (stream, continuation) = AsyncStream.makeStream() }

    deinit { continuation.finish() }

    func roundTrip(_ time: Duration, isAutomatic: Bool) {
        #expect(time >= .zero)
        continuation.yield(isAutomatic)
    }
}
