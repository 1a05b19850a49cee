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
    /// How much of a room is kept.
    public var retention = RoomRetention()
    /// What clients may send, as they are told in `welcome`.
    public var limits: RoomsLimits {
        get { policy.limits }
        set { policy.limits = newValue }
    }
    /// Who looks at tokens; nil: nobody, so that only ``takesDevelopmentTokens`` lets anybody in.
    public var authority: (any HubAuthority)?
    /// Whether `dev:NAME` is a token, for clients on this machine that no proxy speaks for.
    ///
    /// Whoever shows it is NAME, and may read, write and be present in all rooms. A hub that listens anywhere but on this machine refuses to
    /// run so.
    public var takesDevelopmentTokens = false
    /// The keys of those who may use the HTTP API, at least 16 bytes each.
    public var apiKeys: [String] = []
    /// The origins whose pages may connect, such as `https://example.org`, beside the hub's own; `*` is every origin.
    ///
    /// Only browsers say an origin; who says none is let through to show a token.
    public var origins: [String] = []
    /// The directory where `POST /api/backup` puts copies of the log; nil: there are no backups by HTTP.
    public var backups: String?
    /// The name of this process among those that make up the hub.
    public var node = "hub"
    /// What the hub tells of itself.
    public var logger = Logger(label: "holdfast.hub")

    /// All limits and times.
    package var policy = HubPolicy()
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
        /// What a client has said and the hub has not looked at, before nothing more is read of it.
        package var unheard = 256 << 10

        package init() {}
    }

    /// A hub that keeps its log in a directory.
    public init(data: String) { self.data = data }

    /// The configuration of the server below, as the hub needs it.
    func serverConfiguration() throws(HubError) -> WebSocketServerConfiguration {
        if takesDevelopmentTokens, server.unixSocket == nil, !Caller.isLoopback(server.host) {
            throw HubError.configuration("tokens for development are taken on this machine only, not on \(server.host)")
        }
        if let short = apiKeys.first(where: { $0.utf8.count < 16 }) {
            throw HubError.configuration("an API key has to have at least 16 bytes; one has \(short.utf8.count)")
        }
        var server = server
        server.httpVersion = .http1
        server.limits.message = Int(limits.frame)
        server.handlers = .eventLoop
        return server
    }
}
