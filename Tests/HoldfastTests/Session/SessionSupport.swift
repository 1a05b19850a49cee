import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

/// A socket in a world where nothing happens by itself: its attempts are answered by the test, its time is the test's.
struct Stage: Sendable {
    /// No chance: 1 s before the second attempt, then 2 s, 4 s…; 1 s again after a loss of a stable connection.
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

    /// Answers the next attempt, and returns the server's end.
    func accept() async throws -> MemoryTransport { try #require(await server.nextAttempt()).accept() }

    /// Lets the next attempt fail.
    func refuse(_ error: TransportError = .down) async throws { try #require(await server.nextAttempt()).refuse(error) }

    /// Lets the pause before the next attempt pass; returns how long it was.
    @discardableResult func pause() async -> Duration {
        // The limits of sends that wait for a connection are sleeps, too.
        var pause = await clock.nextSleep()
        while pause > Self.policy.backoff.cap { pause = await clock.nextSleep() }
        clock.advance(by: pause)
        return pause
    }

    /// Waits until somebody sleeps for so long, and lets that pass.
    func pause(of duration: Duration) async {
        while !Task.isCancelled, await clock.nextSleep() != duration {}
        clock.advance(by: duration)
    }

    /// Waits until the socket is in such a state.
    func state(_ isWanted: (WebSocketState) -> Bool) async {
        for await state in socket.states where isWanted(state) { return }
    }

    func story() -> Story { Story(events: socket.events.makeAsyncIterator()) }
}

/// How many attempts there were, and how many at once at most.
final class AttemptCount: Sendable {
    private let state = LockedValue((total: 0, now: 0, most: 0))
    var total: Int { state.withLockedValue(\.total) }
    var mostAtOnce: Int { state.withLockedValue(\.most) }

    func begin() {
        state.withLockedValue { $0 = ($0.total + 1, $0.now + 1, max($0.most, $0.now + 1)) }
    }

    func end() { state.withLockedValue { $0.now -= 1 } }
}

/// The events of a socket, in words that can be compared.
struct Story {
    enum Chapter: Equatable {
        case opened
        case message(Message)
        case reconnecting(attempt: Int, delay: Duration, TransportError.Code)
        case dropped(Message, SendRefusal)
        case closed(TransportError.Code?)
    }
    var events: WebSocketEvents.AsyncIterator

    mutating func next() async -> Chapter? {
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
    /// The next event that is not about the state.
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

/// The code of the error that a socket's function throws.
func code(_ body: () async throws(WebSocketError) -> Void) async -> WebSocketError.Code? {
    do throws(WebSocketError) {
        try await body()
        return nil
    } catch {
        return error.code
    }
}
