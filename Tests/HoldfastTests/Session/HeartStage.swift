import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

/// A socket over memory whose connections use the same manual clock as the socket.
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

    /// Accepts the next attempt; the server's end sends no pings.
    func accept() async throws -> MemoryTransport {
        let peer = try #require(await server.nextAttempt()).accept()
        peer.setPingInterval(nil)
        return peer
    }

    /// Waits until something sleeps for this duration, and advances the clock by it.
    func pause(of duration: Duration) async {
        while !Task.isCancelled, await clock.nextSleep() != duration {}
        clock.advance(by: duration)
    }

    /// Advances the clock from sleep to sleep until a sleep is longer than `limit`.
    func lapse(upTo limit: Duration) async {
        while !Task.isCancelled {
            let sleep = await clock.nextSleep()
            if sleep > limit { return }
            clock.advance(by: sleep)
        }
    }

    func eventReader() -> EventReader { EventReader(events: socket.events.makeAsyncIterator()) }
}

/// A source of network paths that the test controls.
final class HeartPaths: PathSource {
    private let stream: AsyncStream<PathWatch.Input>
    private let continuation: AsyncStream<PathWatch.Input>.Continuation
    /// Ends when the stream of updates is released.
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

/// Returns another token for each call: `token-1`, then `token-2`.
final class HeartTokens: Sendable {
    private let count = LockedValue(0)

    func next() -> Credential {
        count.withLockedValue { count in
            count += 1
            return Credential("token-\(count)")
        }
    }
}

/// Records the round trips that a connection measured.
final class HeartLog: LinkObserver {
    private let continuation: AsyncStream<Bool>.Continuation
    /// For each round trip, whether the ping was automatic; ends with the log.
    let stream: AsyncStream<Bool>

    init() { (stream, continuation) = AsyncStream.makeStream() }

    deinit { continuation.finish() }

    func roundTrip(_ time: Duration, isAutomatic: Bool) {
        #expect(time >= .zero)
        continuation.yield(isAutomatic)
    }
}
