import Holdfast
public import HoldfastServer
public import Logging
public import RoomCore
import WebSocketCore

/// Everything about a hub that can be chosen; the defaults suit development on one machine.
public struct HubConfiguration: Sendable {
    /// Where to listen, and what a connection may cost.
    ///
    /// The hub speaks HTTP/1.1, in which browsers open WebSockets, and takes frames as long as ``limits`` say. Compression is off unless it is
    /// asked for here: it costs memory for each connection, and most of what rooms carry is short.
    public var server: WebSocketServerConfiguration = {
        var server = WebSocketServerConfiguration()
        server.compression = nil
        server.unsentLimit = 128 * 1024
        return server
    }()
    /// The directory of the log; made if there is none.
    public var data: String
    /// Whether all rooms get new epochs at the start, as when the log was found to have gone back.
    ///
    /// Every client then gets a snapshot and knows that entries may be lost. A hub finds out by itself that its directory was copied or
    /// restored, or that one of its files is damaged, gone or an older one; this is for what leaves no trace in the directory, such as a
    /// snapshot of a whole disk that was put back.
    public var drawsNewEpochs = false
    /// How much of a room is kept.
    public var retention = RoomRetention()
    /// What clients may send, as they are told in `welcome`.
    public var limits: RoomsLimits {
        get { policy.limits }
        set { policy.limits = newValue }
    }
    /// What one connection may do.
    public var perConnection: HubAllowance {
        get { HubAllowance(policy.connection) }
        set {
            newValue.apply(to: &policy.connection)
            // Frames of all kinds are more than publications: who keeps to this limit is not closed for being quick.
            let frames = 2 * policy.connection.messages.perSecond
            if frames > policy.frames.perSecond { policy.frames = HubPolicy.Rate(perSecond: frames, burst: 4 * frames) }
        }
    }
    /// What one user may do with all connections.
    public var perUser: HubAllowance {
        get { HubAllowance(policy.user) }
        set { newValue.apply(to: &policy.user) }
    }
    /// What one address may do, at first with 1000 connections: many may sit behind it.
    ///
    /// Without a proxy it has half of what the server takes at most, unless `server.maximumConnectionsPerAddress` says more.
    /// Of IPv6 the first 64 bits count, for whoever has one of those addresses has them all. Those of plain HTTP are counted apart, see ``http``.
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
    /// Whether all clients come through a proxy, which writes their addresses into `X-Forwarded-For`.
    ///
    /// The last address there is then the client's, as long as nobody but the proxy can reach the hub; and no request is one of this machine
    /// itself. Without this a proxy is one address, and one that says nothing of whom it speaks for, and runs on this machine, opens
    /// `/metrics` and `/status` to everybody.
    public var isBehindProxy = false
    /// Who looks at tokens; nil: nobody, so that only ``takesDevelopmentTokens`` lets anybody in.
    public var authority: (any HubAuthority)?
    /// Whether `dev:NAME` is a token, for clients on this machine that no proxy speaks for.
    ///
    /// Whoever shows it is NAME, and may read, write and be present in all rooms. A hub that listens anywhere but on this machine refuses to
    /// run so.
    public var takesDevelopmentTokens = false
    /// The keys of those who may use the HTTP API, at least 16 bytes each.
    public var apiKeys: [String] = []
    /// The origins whose pages may connect, such as `https://example.org`, beside the hub's own at an address or `localhost`; `*` is every.
    ///
    /// A hub that browsers reach by a name has to be told its origin here, for any name can be made to lead to it. Only browsers say an
    /// origin; who says none is let through to show a token.
    public var origins: [String] {
        get { server.origins.allowed }
        set { server.origins.allowed = newValue }
    }
    /// What plain HTTP may cost.
    public var http = HubHTTPLimits()
    /// The directory where `POST /api/backup` puts copies of the log; nil: there are no backups by HTTP.
    public var backups: String?
    /// The name of this process among those that make up the hub.
    public var node = "hub"
    /// What the hub tells of itself.
    public var logger = Logger(label: "holdfast.hub")

    /// Connections of an address, beside those of both kinds that it may have, that have not said which they are.
    private static let handshakes = 1000
    /// What the frame of a publication holds beside its payload, at the most: names and types, each byte of them written as an escape.
    private static let frameOverhead: Int64 = 2048

    /// All limits and times.
    package var policy = HubPolicy()
    private var totalQuota: Int64?
    private var freeSpace = HubQuotas().free
    /// How much may wait for one client, and of one client.
    package var lanes = Lanes()

    /// Bounds of what waits between a client and the hub, in bytes.
    package struct Lanes: Hashable, Sendable {
        /// Entries and answers that wait to be written, before the client gets no more entries until it has those.
        package var stored = 1 << 20
        /// The same, before it is closed.
        package var most = 8 << 20
        /// Of what nobody stores, before it is dropped.
        package var ephemeral = 64 << 10
        /// How long what waits may take to leave when the connection is to be closed; what has not left by then is dropped.
        package var farewell: Duration = .seconds(5)
        /// What a client has said and the hub has not looked at, before nothing more is read of it.
        package var unheard = 256 << 10
        /// The longest message of one that is not known yet; the room for a token and the joins of some three hundred rooms.
        package var shortGreeting = 64 << 10
        /// So many of one address on one event loop may say longer ones at once: a hello with all rooms, and what follows it.
        package var longGreetings = 16

        package init() {}
    }

    /// A hub that keeps its log in a directory.
    public init(data: String) {
        self.data = data
        policy.address.connections = 1000
    }

    /// The configuration of the server below, as the hub needs it.
    func serverConfiguration() throws(HubError) -> WebSocketServerConfiguration {
        if takesDevelopmentTokens {
            guard !isBehindProxy, server.unixSocket == nil else {
                throw HubError.configuration("tokens for development are taken without a proxy and on a TCP port of this machine only")
            }
            guard Caller.isLoopback(server.host) else {
                throw HubError.configuration("tokens for development are taken on this machine only, not on \(server.host)")
            }
        }
        if let odd = server.origins.firstInvalid {
            throw HubError.configuration("an origin is like https://example.org, without a path, or *; not \(odd)")
        }
        guard [retention.count, retention.age, retention.bytes].allSatisfy({ $0 ?? 1 > 0 }) else {
            throw HubError.configuration("what is kept of a room is more than nothing")
        }
        // Otherwise a payload that may be published would end its connection, each time it is sent again.
        guard limits.frame > Self.frameOverhead, (limits.frame - Self.frameOverhead) / 4 * 3 >= limits.body else {
            throw HubError.configuration("a frame of \(limits.frame) bytes does not hold a payload of \(limits.body) bytes in Base64")
        }
        if let short = apiKeys.first(where: { $0.utf8.count < 16 }) {
            throw HubError.configuration("an API key has to have at least 16 bytes; one has \(short.utf8.count)")
        }
        var server = server
        server.httpVersion = .http1
        server.limits.message = Int(limits.frame)
        server.handlers = .eventLoop
        // Those that say nothing yet count here only: else they could be all there may be.
        if !isBehindProxy, server.maximumConnectionsPerAddress == nil {
            let wanted = policy.address.connections + Int(clamping: max(http.perAddress, 1)) + Self.handshakes
            // One address leaves others as many as it may have itself.
            server.maximumConnectionsPerAddress = min(wanted, max(server.maximumConnections / 2, 1))
        }
        // Pages of other ports of this machine are not the hub's, and could show its tokens for development.
        server.origins.isStrict = true
        return server
    }
}

/// What plain HTTP may cost a hub: its page, its status, its API.
///
/// Each connection holds at most 16 KiB that were read of it and 64 KiB of an answer, and has one request at a time. `/healthz`, `/readyz` and
/// `/metrics` are answered beyond these numbers as well.
public struct HubHTTPLimits: Hashable, Sendable {
    /// Connections of one address at once; behind a proxy they are not counted by address.
    public var perAddress: Int64 = 100
    /// Connections at once in all, though never more than half of what the server takes.
    public var connections: Int64 = 1000
    /// How long a request may take to arrive, its body included; then it is refused with 408, and the connection closed.
    public var request: Duration = .seconds(10)
    /// How long each 64 KiB of an answer may take to leave; then the connection is closed.
    public var write: Duration = .seconds(10)

    /// The defaults.
    public init() {}
}

/// What one connection, one user, or one address may do; whoever does more is told to slow down, and by when.
///
/// All but ``connections`` and ``rooms`` are by the second, and after a pause some seconds' worth is taken at once. Numbers below 1 count as 1, those above
/// 2^30 as 2^30.
public struct HubAllowance: Hashable, Sendable {
    /// Publications a second.
    public var messages: Int64
    /// Bytes of publications a second.
    public var bytes: Int64
    /// Joins a second; each page of a long absence is one.
    public var joins: Int64
    /// Connections at once; without meaning for one connection.
    public var connections: Int64
    /// Rooms in which it may be at once, each counted once; without meaning for one connection, for which `limits.rooms` holds.
    ///
    /// Nobody takes the places of all others in the hub, which has 100,000 rooms open at once.
    public var rooms: Int64

    init(_ allowance: HubPolicy.Allowance) {
        (messages, bytes) = (allowance.messages.perSecond, allowance.bytes.perSecond)
        (joins, connections) = (allowance.joins.perSecond, Int64(allowance.connections))
        rooms = Int64(allowance.rooms)
    }

    /// Puts it into a policy, where what is taken at once stays worth as many seconds as before.
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
        // In floating point, for the product may need more than 64 bits.
        burst = max(1, Int64((Double(burst) * Double(number) / Double(max(perSecond, 1))).rounded()))
        perSecond = number
    }
}
