import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

/// A socket whose attempts the test answers and whose clock the test advances.
struct Stage: Sendable {
    /// A policy without randomness.
    ///
    /// The delay is 1 s before the second attempt, then 2 s, 4 s and so on; it is 1 s again after the loss of a stable connection.
    static let policy = ReconnectPolicy(backoff: Backoff(base: .seconds(1), jitter: .proportional(0)), stableAfter: .seconds(10))

    let clock = ManualClock()
    let server: MemoryServer
    let socket: WebSocket
    let attempts = AttemptCount()

    init(
        _ policy: ReconnectPolicy = Self.policy, configuration: WebSocketConfiguration = WebSocketConfiguration(),
        _ configure: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        let server = MemoryServer(configuration: configuration)
        self.server = server
        var options = WebSocketOptions()
        options.reconnect = policy
        configure(&options)
        socket = WebSocket(options, seed: 1, clock: clock) { [attempts] attempt async throws(WebSocketError) in
            attempts.begin()
            defer { attempts.end() }
            return try await server.connect(attempt)
        }
    }

    /// Accepts the next attempt and returns the server's end.
    func accept() async throws -> MemoryTransport { try #require(await server.nextAttempt()).accept() }

    /// Refuses the next attempt.
    func refuse(_ error: TransportError = .down) async throws { try #require(await server.nextAttempt()).refuse(error) }

    /// Advances the clock by the pause before the next attempt; returns the pause.
    @discardableResult func pause() async -> Duration {
        // The timeouts of waiting sends are sleeps too, so they are skipped.
        var pause = await clock.nextSleep()
        while pause > Self.policy.backoff.cap { pause = await clock.nextSleep() }
        clock.advance(by: pause)
        return pause
    }

    /// Waits until something sleeps for this duration, and advances the clock by it.
    func pause(of duration: Duration) async {
        while !Task.isCancelled, await clock.nextSleep() != duration {}
        clock.advance(by: duration)
    }

    /// Waits until the socket is in such a state.
    func state(_ isWanted: (WebSocketState) -> Bool) async {
        for await state in socket.states where isWanted(state) { return }
    }

    func eventReader() -> EventReader { EventReader(events: socket.events.makeAsyncIterator()) }
}

/// Counts the attempts, and the most at one time.
final class AttemptCount: Sendable {
    private let state = LockedValue((total: 0, now: 0, most: 0))
    var total: Int { state.withLockedValue(\.total) }
    var mostAtOnce: Int { state.withLockedValue(\.most) }

    func begin() {
        state.withLockedValue { $0 = ($0.total + 1, $0.now + 1, max($0.most, $0.now + 1)) }
    }

    func end() { state.withLockedValue { $0.now -= 1 } }
}

/// Reads the events of a socket as values that can be compared.
struct EventReader {
    enum Event: Equatable {
        case opened
        case message(Message)
        case reconnecting(attempt: Int, delay: Duration, TransportError.Code)
        case dropped(Message, SendRefusal)
        case closed(TransportError.Code?)
    }
    var events: WebSocketEvents.AsyncIterator

    mutating func next() async -> Event? {
        while let event = await events.next() {
            switch event {
            case .opened: return .opened
            case .message(let message): return .message(message)
            case .reconnecting(let attempt, let delay, let cause): return .reconnecting(attempt: attempt, delay: delay, cause.code)
            case .dropped(let dropped): return .dropped(dropped.message, dropped.refusal)
            case .closed(let closure): return .closed(closure.error?.code)
            default: continue
            }
        }
        return nil
    }
}

extension WebSocketEvents.AsyncIterator {
    /// Returns the next event that is not a change of state.
    mutating func nextButStates() async -> WebSocketEvent? {
        while let event = await next() {
            if case .state = event { continue }
            return event
        }
        return nil
    }
}

extension TransportError {
    static let down = TransportError(.unreachable, "the server is down")

    static func refused(_ status: Int) -> TransportError {
        var error = TransportError(.refused, "the server answered \(status)")
        error.response = ResponseHead(status: status)
        return error
    }
}

/// Returns the code of the error that `body` throws.
func code(_ body: () async throws(WebSocketError) -> Void) async -> WebSocketError.Code? {
    do throws(WebSocketError) {
        try await body()
        return nil
    } catch {
        return error.code
    }
}
