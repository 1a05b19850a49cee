import Holdfast
public import HoldfastServer
public import Logging
public import RoomCore
import WebSocketCore

/// The configuration of a hub; the defaults suit development on one machine.
public struct HubConfiguration: Sendable {
    /// The address to listen on, and the limits of connections.
    ///
    /// The hub uses HTTP/1.1, in which browsers open WebSockets, and accepts frames up to the length in ``limits``. Compression is off
    /// unless it is turned on here: it takes memory for each connection, and most messages in rooms are short.
    public var server: WebSocketServerConfiguration = {
        var server = WebSocketServerConfiguration()
        server.compression = nil
        server.unsentLimit = 128 * 1024
        return server
    }()
    /// The directory of the log; created if it does not exist.
    public var data: String
    /// Whether all rooms get new epochs at the start, as if the log had gone back.
    ///
    /// Every client then gets a snapshot and knows that entries may be lost. The hub detects by itself that its directory was copied or
    /// restored, or that one of its files is damaged, missing or outdated. Use this option for changes that leave no trace in the
    /// directory, such as restoring a snapshot of a whole disk.
    public var drawsNewEpochs = false
    /// How much of a room is kept.
    public var retention = RoomRetention()
    /// The limits for clients, which `welcome` reports to them.
    public var limits: RoomsLimits {
        get { policy.limits }
        set { policy.limits = newValue }
    }
    /// The limits of one connection.
    public var perConnection: HubAllowance {
        get { HubAllowance(policy.connection) }
        set {
            newValue.apply(to: &policy.connection)
            // The limit of frames of all kinds must exceed that of publications. Otherwise a client within this limit could be closed for
            // its speed.
            let frames = 2 * policy.connection.messages.perSecond
            if frames > policy.frames.perSecond { policy.frames = HubPolicy.Rate(perSecond: frames, burst: 4 * frames) }
        }
    }
    /// The limits of one user over all connections.
    public var perUser: HubAllowance {
        get { HubAllowance(policy.user) }
        set { newValue.apply(to: &policy.user) }
    }
    /// The limits of one address; by default 1000 connections, because many users may share one address.
    ///
    /// Without a proxy, one address may use at most half of the server's connections, unless `server.maximumConnectionsPerAddress` is
    /// set. For IPv6 the first 64 bits count, because one owner usually has all addresses of such a block. Connections of plain HTTP are
    /// counted separately, see ``http``.
    public var perAddress: HubAllowance {
        get { HubAllowance(policy.address) }
        set { newValue.apply(to: &policy.address) }
    }
    /// How much may be stored.
    public var quotas: HubQuotas {
        get { HubQuotas(userPerDay: policy.userDay, room: policy.roomBytes, total: totalQuota, free: freeSpace) }
        set {
            func fit(_ number: Int64?) -> Int64 { max(number ?? .max, 1) }
            (policy.userDay, policy.roomBytes) = (fit(newValue.userPerDay), fit(newValue.room))
            (totalQuota, freeSpace) = (newValue.total, max(newValue.free, 0))
        }
    }
    /// Whether all clients connect through a proxy, which writes their addresses into `X-Forwarded-For`.
    ///
    /// The hub then takes the last address there as the client's, so only the proxy may be able to reach the hub. No request counts as
    /// local then. Without this option, a proxy counts as one address. A proxy on this machine that does not report its clients would
    /// then open `/metrics` and `/status` to everybody.
    public var isBehindProxy = false
    /// The authority that verifies tokens; nil: only clients with development tokens are accepted, see ``takesDevelopmentTokens``.
    public var authority: (any HubAuthority)?
    /// Whether `dev:NAME` is accepted as a token, from clients on this machine without a proxy.
    ///
    /// A client with this token is the user NAME, and may read, write and be present in all rooms. With this option, the hub refuses to
    /// run if it listens on any address other than this machine's.
    public var takesDevelopmentTokens = false
    /// The keys for the HTTP API, at least 16 bytes each.
    public var apiKeys: [String] = []
    /// The origins whose pages may connect, such as `https://example.org`; `*` allows every origin.
    ///
    /// The hub's own origin is always allowed if its host is an address or `localhost`. If browsers reach the hub by a name, add its
    /// origin here, because any name can be made to resolve to the hub. Only browsers send an origin; clients without one are accepted
    /// and have to send a token.
    public var origins: [String] {
        get { server.origins.allowed }
        set { server.origins.allowed = newValue }
    }
    /// The limits of plain HTTP.
    public var http = HubHTTPLimits()
    /// The directory where `POST /api/backup` puts copies of the log; nil: no backups over HTTP.
    public var backups: String?
    /// The name of this process among the processes of the hub.
    public var node = "hub"
    /// The logger of the hub.
    public var logger = Logger(label: "holdfast.hub")

    /// The additional connections of an address that may be in a handshake, and so are not yet of a known kind.
    private static let handshakes = 1000
    /// The maximum size of a publication's frame without its payload: names and types, with each byte escaped.
    private static let frameOverhead: Int64 = 2048

    /// All limits and timeouts.
    package var policy = HubPolicy()
    private var totalQuota: Int64?
    private var freeSpace = HubQuotas().free
    /// The limits of queues for and from one client.
    package var lanes = Lanes()

    /// The limits of queues between a client and the hub, in bytes.
    package struct Lanes: Hashable, Sendable {
        /// Queued entries and answers beyond which the client gets no more entries until the queue is empty.
        package var stored = 1 << 20
        /// Queued entries and answers beyond which the client is closed.
        package var most = 8 << 20
        /// Queued ephemeral frames beyond which more are dropped.
        package var ephemeral = 64 << 10
        /// How long queued frames may take to be sent before a close; the rest is dropped then.
        package var closeTimeout: Duration = .seconds(5)
        /// Received bytes that the hub has not processed, beyond which it stops reading from the client.
        package var unheard = 256 << 10
        /// The longest message of a client before its `welcome`: enough for a token and the joins of about 300 rooms.
        package var shortGreeting = 64 << 10
        /// The number of clients of one address on one event loop that may send longer messages then: a hello with all rooms, and more.
        package var longGreetings = 16

        package init() {}
    }

    /// Creates a configuration of a hub with its log in this directory.
    public init(data: String) {
        self.data = data
        policy.address.connections = 1000
    }

    /// Returns the configuration of the underlying server, adjusted for the hub.
    func serverConfiguration() throws(HubError) -> WebSocketServerConfiguration {
        if takesDevelopmentTokens {
            guard !isBehindProxy, server.unixSocket == nil else {
                throw HubError.configuration("development tokens are accepted on a TCP port of this machine only, without a proxy")
            }
            guard Caller.isLoopback(server.host) else {
                throw HubError.configuration("development tokens are accepted on this machine only, not on \(server.host)")
            }
        }
        if let odd = server.origins.firstInvalid {
            throw HubError.configuration("an origin must look like https://example.org, without a path, or be *; \(odd) does not")
        }
        guard [retention.count, retention.age, retention.bytes].allSatisfy({ $0 ?? 1 > 0 }) else {
            throw HubError.configuration("the limits of what is kept of a room must be above 0")
        }
        // Otherwise an allowed payload would end its connection each time it is sent again.
        guard limits.frame > Self.frameOverhead, (limits.frame - Self.frameOverhead) / 4 * 3 >= limits.body else {
            throw HubError.configuration("a frame of \(limits.frame) bytes does not hold a payload of \(limits.body) bytes in Base64")
        }
        if let short = apiKeys.first(where: { $0.utf8.count < 16 }) {
            throw HubError.configuration("an API key must have at least 16 bytes; one has \(short.utf8.count)")
        }
        var server = server
        server.httpVersion = .http1
        server.limits.message = Int(limits.frame)
        server.handlers = .eventLoop
        // Connections in a handshake are limited only here; without this limit, they could use all connections.
        if !isBehindProxy, server.maximumConnectionsPerAddress == nil {
            let wanted = policy.address.connections + Int(clamping: max(http.perAddress, 1)) + Self.handshakes
            // One address leaves at least as many connections to others as it may use itself.
            server.maximumConnectionsPerAddress = min(wanted, max(server.maximumConnections / 2, 1))
        }
        // Pages from other ports of this machine do not belong to the hub and could use development tokens.
        server.origins.isStrict = true
        return server
    }
}

/// The limits of plain HTTP: the page, the status and the API.
///
/// Each connection holds at most 16 KiB of received data and 64 KiB of a response, and handles one request at a time. `/healthz`,
/// `/readyz` and `/metrics` are answered even beyond these limits.
public struct HubHTTPLimits: Hashable, Sendable {
    /// Simultaneous connections of one address; behind a proxy, connections are not counted by address.
    public var perAddress: Int64 = 100
    /// Simultaneous connections in all, but never more than half of the server's connections.
    public var connections: Int64 = 1000
    /// How long a request may take to arrive, including its body; then it is refused with 408 and the connection is closed.
    public var request: Duration = .seconds(10)
    /// How long each 64 KiB of a response may take to be sent; then the connection is closed.
    public var write: Duration = .seconds(10)

    /// Creates the default limits.
    public init() {}
}

/// The limits of one connection, one user, or one address; a client beyond a limit is told to slow down, and for how long.
///
/// All limits except ``connections`` and ``rooms`` are per second, and after a pause a burst of some seconds' worth is accepted at once.
/// Numbers below 1 count as 1, numbers above 2^30 as 2^30.
public struct HubAllowance: Hashable, Sendable {
    /// Publications per second.
    public var messages: Int64
    /// Bytes of publications per second.
    public var bytes: Int64
    /// Joins per second; each page that is fetched after a long absence counts as one.
    public var joins: Int64
    /// Simultaneous connections; ignored for one connection.
    public var connections: Int64
    /// Rooms joined at once, each counted once; ignored for one connection, for which `limits.rooms` applies.
    ///
    /// This keeps one user or address from using up the hub's limit of 100,000 open rooms.
    public var rooms: Int64

    init(_ allowance: HubPolicy.Allowance) {
        (messages, bytes) = (allowance.messages.perSecond, allowance.bytes.perSecond)
        (joins, connections) = (allowance.joins.perSecond, Int64(allowance.connections))
        rooms = Int64(allowance.rooms)
    }

    /// Applies the limits to a policy; bursts keep their length in seconds.
    func apply(to allowance: inout HubPolicy.Allowance) {
        allowance.messages.change(to: Self.fit(messages))
        allowance.bytes.change(to: Self.fit(bytes))
        allowance.joins.change(to: Self.fit(joins))
        allowance.connections = Int(Self.fit(connections))
        allowance.rooms = Int(Self.fit(rooms))
    }

    private static func fit(_ number: Int64) -> Int64 { min(max(number, 1), 1 << 30) }
}

extension HubPolicy.Rate {
    fileprivate mutating func change(to number: Int64) {
        // Floating point, because the product may need more than 64 bits.
        burst = max(1, Int64((Double(burst) * Double(number) / Double(max(perSecond, 1))).rounded()))
        perSecond = number
    }
}
