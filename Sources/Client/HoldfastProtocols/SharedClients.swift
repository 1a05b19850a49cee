import WebSocketRuntime

/// One client for many users, who come and go without knowing of each other: it is made for the first, and closed a while after the last.
///
/// There is one for each key, such as the URL of its server.
/// ```swift
/// let boards = SharedClients { (url: String) in ProtocolClient(BoardRules(), over: WebSocket(url)) { _ in BoardCoding() } }
///
/// final class ChannelModel {
///     private let lease: ClientLease<ProtocolClient<BoardRules>>
///     init(_ boards: SharedClients<String, ProtocolClient<BoardRules>>) { lease = boards.lease("wss://example.com/ws") }
///     func post(_ text: String) async throws { try await lease.client.request { .post($0, text) } }
/// }
/// ```
/// Nobody calls close: a lease ends when its last reference is gone.
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

    /// No clients yet.
    ///
    /// - Parameters:
    ///   - grace: How long a client stays after its last user is gone.
    ///   - clock: What that is measured with.
    ///   - make: Makes the client for the first user of a key, and another for the first one after that was closed. It should be quick, for
    ///     all keys wait for it. Neither this nor `isOver` may use this object, or let go of one of its leases.
    ///   - isOver: Whether a client has ended by itself: then the next lease gets another.
    ///   - close: Closes a client that nobody uses any more.
    public init<C: Clock>(
        closingAfter grace: Duration = .seconds(5), clock: C = ContinuousClock(), make: @escaping @Sendable (Key) -> Client,
        isOver: @escaping @Sendable (Client) -> Bool, close: @escaping @Sendable (Client) async -> Void
    ) where C.Duration == Duration {
        (self.make, self.isOver, self.close) = (make, isOver, close)
        // Clocks of the system cannot wait much longer than 2^32 seconds.
        pause = { try await clock.sleep(for: min(max(grace, .zero), .seconds(1 << 32))) }
    }

    /// The client of a key, for as long as the lease is kept.
    ///
    /// Keep it as long as anything of its client is used. A stream of the client's events is no lease.
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
        // The last reference to it must not go while the lock is held.
        withExtendedLifetime(ended) {}
        return ClientLease(client) { self.release(key) }
    }

    /// How many leases of a key there are.
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
    /// No clients of a protocol of your own yet; see ``init(closingAfter:clock:make:isOver:close:)``.
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

/// A user's hold on a shared client; see ``SharedClients``.
public final class ClientLease<Client: Sendable>: Sendable {
    /// The client.
    public let client: Client
    private let release: @Sendable () -> Void

    init(_ client: Client, release: @escaping @Sendable () -> Void) { (self.client, self.release) = (client, release) }

    deinit { release() }
}
