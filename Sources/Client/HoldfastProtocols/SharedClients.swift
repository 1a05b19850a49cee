import WebSocketRuntime

/// Clients that many users share: a client is created for the first user, and closed some time after the last user has gone.
///
/// There is one client for each key, such as the URL of its server.
/// ```swift
/// let boards = SharedClients { (url: String) in ProtocolClient(BoardRules(), over: WebSocket(url)) { _ in BoardCoding() } }
///
/// final class ChannelModel {
///     private let lease: ClientLease<ProtocolClient<BoardRules>>
///     init(_ boards: SharedClients<String, ProtocolClient<BoardRules>>) { lease = boards.lease("wss://example.com/ws") }
///     func post(_ text: String) async throws { try await lease.client.request { .post($0, text) } }
/// }
/// ```
/// You need not close a client: a lease ends when its last reference is gone.
public final class SharedClients<Key: Hashable & Sendable, Client: Sendable>: Sendable {
    private struct Shared {
        var client: Client
        var leases = 0
        var closing: Task<Void, Never>?
    }
    private let make: @Sendable (Key) -> Client
    private let isOver: @Sendable (Client) -> Bool
    private let close: @Sendable (Client) async -> Void
    private let pause: @Sendable () async throws -> Void
    private let shared = LockedValue<[Key: Shared]>([:])

    /// Creates an empty set of clients.
    ///
    /// - Parameters:
    ///   - grace: How long a client stays open after its last user is gone.
    ///   - clock: The clock for this time.
    ///   - make: Creates the client for the first user of a key, and again after that client was closed. It should be quick, because
    ///     all keys wait for it. Neither `make` nor `isOver` may use this object, or release one of its leases.
    ///   - isOver: Returns whether a client has ended by itself; the next lease then gets a new one.
    ///   - close: Closes a client that has no users.
    public init<C: Clock>(
        closingAfter grace: Duration = .seconds(5), clock: C = ContinuousClock(), make: @escaping @Sendable (Key) -> Client,
        isOver: @escaping @Sendable (Client) -> Bool, close: @escaping @Sendable (Client) async -> Void
    ) where C.Duration == Duration {
        (self.make, self.isOver, self.close) = (make, isOver, close)
        // The system's clocks cannot wait much longer than 2^32 seconds.
        pause = { try await clock.sleep(for: min(max(grace, .zero), .seconds(1 << 32))) }
    }

    /// Returns a lease of the client of a key; the client stays open as long as the lease is kept.
    ///
    /// Keep the lease as long as you use anything of the client. A stream of the client's events does not keep the lease.
    public func lease(_ key: Key) -> ClientLease<Client> {
        let (client, closing, ended) = shared.withLockedValue { shared -> (Client, Task<Void, Never>?, Client?) in
            var ended: Client?
            var place = shared[key] ?? Shared(client: make(key))
            if shared[key] != nil, isOver(place.client) { (ended, place.client) = (place.client, make(key)) }
            place.leases += 1
            let closing = place.closing.take()
            shared[key] = place
            return (place.client, closing, ended)
        }
        closing?.cancel()
        // Keeps the ended client until here, so that its last reference is not released while the lock is held.
        withExtendedLifetime(ended) {}
        return ClientLease(client) { self.release(key) }
    }

    /// Returns the number of leases of a key.
    public func leaseCount(_ key: Key) -> Int { shared.withLockedValue { $0[key]?.leases ?? 0 } }

    private func release(_ key: Key) {
        shared.withLockedValue { shared in
            shared[key]?.leases -= 1
            guard shared[key]?.leases == 0 else { return }
            // SAFETY: ends after the grace time and with the closing of the client; cancelled by the next lease.
            shared[key]?.closing = Task { [pause, close] in
                try? await pause()
                let unused = self.shared.withLockedValue { shared -> Shared? in
                    shared[key]?.leases == 0 && !Task.isCancelled ? shared.removeValue(forKey: key) : nil
                }
                if let unused { await close(unused.client) }
            }
        }
    }
}

extension SharedClients {
    /// Creates an empty set of clients of your own protocol; see ``init(closingAfter:clock:make:isOver:close:)``.
    public convenience init<Rules, C: Clock>(
        closingAfter grace: Duration = .seconds(5), clock: C = ContinuousClock(), make: @escaping @Sendable (Key) -> Client
    ) where Client == ProtocolClient<Rules>, C.Duration == Duration {
        self.init(closingAfter: grace, clock: clock, make: make) { client in
            if case .closed = client.state { true } else { false }
        } close: { client in
            await client.close()
        }
    }
}

/// A lease that keeps a shared client open; see ``SharedClients``.
public final class ClientLease<Client: Sendable>: Sendable {
    /// The client.
    public let client: Client
    private let release: @Sendable () -> Void

    init(_ client: Client, release: @escaping @Sendable () -> Void) { (self.client, self.release) = (client, release) }

    deinit { release() }
}
