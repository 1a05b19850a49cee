import HoldfastProtocols

/// One client shared by many independent users: it connects for the first user, and closes some time after the last one is gone.
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
/// Nobody needs to call close: a lease ends when its last reference is released. ``Events`` do not keep a lease.
public final class WAMPConnector: Sendable {
    private enum Key { case only }
    private let clients: SharedClients<Key, WAMPClient>

    /// Creates a connector, which has no client yet.
    ///
    /// - Parameters:
    ///   - grace: How long the client stays open after its last user is gone.
    ///   - clock: The clock for that delay.
    ///   - make: Creates the client for the first user, and a new one for the first user after it was closed. It must not use the
    ///     connector.
    public init<C: Clock>(
        closingAfter grace: Duration = .seconds(5), clock: C = ContinuousClock(), make: @escaping @Sendable () -> WAMPClient
    ) where C.Duration == Duration {
        clients = SharedClients(closingAfter: grace, clock: clock) { _ in
            make()
        } isOver: { client in
            if case .closed = client.state { true } else { false }
        } close: { client in
            await client.close()
        }
    }

    /// Returns a lease of the client; the client stays open as long as the lease is kept.
    ///
    /// A client that has ended by itself, because its router refuses it, is replaced with the next lease.
    public func lease() -> WAMPLease { WAMPLease(clients.lease(.only)) }

    /// The number of leases.
    public var leaseCount: Int { clients.leaseCount(.only) }
}

/// A user's lease of the shared client; see ``WAMPConnector``.
public final class WAMPLease: Sendable {
    private let lease: ClientLease<WAMPClient>

    init(_ lease: ClientLease<WAMPClient>) { self.lease = lease }

    /// The client.
    public var client: WAMPClient { lease.client }
}
