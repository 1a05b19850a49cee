import Holdfast
import WAMPCore
import WebSocketRuntime

/// One client for many users, who come and go without knowing of each other: it connects with the first, and closes a while after the last.
///
/// ```swift
/// let connector = WAMPConnector { WAMPClient("wss://example.com/ws", realm: "realm1") }
///
/// final class ChatModel {
///     private let lease: WAMPLease
///     init(_ connector: WAMPConnector) { lease = connector.lease() }
///     func send(_ line: ChatLine) async throws { try await lease.client.publish(API.chat, line) }
/// }
/// ```
/// Nobody calls close: a lease ends when its last reference is gone. ``Events`` alone are no lease.
public final class WAMPConnector: Sendable {
    private struct State {
        var client: WAMPClient?
        var leases = 0
        var closing: Task<Void, Never>?
    }
    private let make: @Sendable () -> WAMPClient
    private let grace: Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = LockedValue(State())

    /// A connector without a client yet.
    ///
    /// - Parameters:
    ///   - grace: How long the client stays after its last user is gone.
    ///   - clock: What that is measured with.
    ///   - make: Makes the client for the first user, and another for the first one after that was closed. It must not use the connector.
    public init<C: Clock>(
        closingAfter grace: Duration = .seconds(5), clock: C = ContinuousClock(), make: @escaping @Sendable () -> WAMPClient
    ) where C.Duration == Duration {
        (self.grace, self.make) = (grace, make)
        sleep = { try await clock.sleep(for: $0.bounded) }
    }

    /// The client, for as long as the lease is kept.
    ///
    /// A client that has ended by itself, for its router refuses it, is replaced with the next lease.
    public func lease() -> WAMPLease {
        let (client, closing, ended) = state.withLockedValue { state -> (WAMPClient, Task<Void, Never>?, WAMPClient?) in
            var ended: WAMPClient?
            if let present = state.client, case .closed = present.state { ended = state.client.take() }
            let client = state.client ?? make()
            state.client = client
            state.leases += 1
            return (client, state.closing.take(), ended)
        }
        closing?.cancel()
        // The last reference to it must not go while the lock is held.
        withExtendedLifetime(ended) {}
        return WAMPLease(client: client, connector: self)
    }

    /// How many leases there are.
    public var leaseCount: Int { state.withLockedValue(\.leases) }

    fileprivate func release() {
        state.withLockedValue { state in
            state.leases -= 1
            guard state.leases == 0 else { return }
            // SAFETY: ends after the grace time and the goodbye, both bounded; cancelled by the next lease.
            state.closing = Task { [sleep, grace] in
                guard (try? await sleep(grace)) != nil else { return }
                let client = self.state.withLockedValue { state -> WAMPClient? in
                    guard state.leases == 0, !Task.isCancelled else { return nil }
                    state.closing = nil
                    return state.client.take()
                }
                await client?.close()
            }
        }
    }
}

/// A user's hold on a shared client; see ``WAMPConnector``.
public final class WAMPLease: Sendable {
    /// The client.
    public let client: WAMPClient
    private let connector: WAMPConnector

    init(client: WAMPClient, connector: WAMPConnector) { (self.client, self.connector) = (client, connector) }

    deinit { connector.release() }
}
