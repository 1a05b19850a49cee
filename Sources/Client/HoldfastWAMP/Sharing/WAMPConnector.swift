import HoldfastProtocols

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
    private enum Key { case only }
    private let clients: SharedClients<Key, WAMPClient>

    /// A connector without a client yet.
    ///
    /// - Parameters:
    ///   - grace: How long the client stays after its last user is gone.
    ///   - clock: What that is measured with.
    ///   - make: Makes the client for the first user, and another for the first one after that was closed. It must not use the connector.
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

    /// The client, for as long as the lease is kept.
    ///
    /// A client that has ended by itself, for its router refuses it, is replaced with the next lease.
    public func lease() -> WAMPLease { WAMPLease(clients.lease(.only)) }

    /// How many leases there are.
    public var leaseCount: Int { clients.leaseCount(.only) }
}

/// A user's hold on a shared client; see ``WAMPConnector``.
public final class WAMPLease: Sendable {
    private let lease: ClientLease<WAMPClient>

    init(_ lease: ClientLease<WAMPClient>) { self.lease = lease }

    /// The client.
    public var client: WAMPClient { lease.client }
}
