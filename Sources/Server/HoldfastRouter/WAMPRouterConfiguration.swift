public import HoldfastServer
public import Logging
public import WAMPCore
import Holdfast
import WebSocketCore

/// The configuration of a router; the defaults suit development on one machine.
public struct WAMPRouterConfiguration: Sendable {
    /// The limits of one client.
    public struct Limits: Hashable, Sendable {
        /// Bytes from other clients that may wait for a client outside of its connection, and the same amount again of data it requested.
        ///
        /// A client that makes more than a quarter of it wait is not read any further until the receiver has taken some. Beyond the limit,
        /// a call is answered with `wamp.error.unavailable`, and an event is dropped. The receiver is cut off if it does not read what it
        /// requested itself, or if events wait and it is slower than ``slowest``. If the value is less than a few messages of the maximum
        /// length `server.limits.message`, messages are refused that clients of normal speed would take.
        public var waiting = 4 << 20
        /// The read rate in bytes per second that every client must reach while something waits for it.
        ///
        /// The router measures a client for as long as a quarter of ``waiting`` takes at this rate. If the client is slower, others no
        /// longer wait for it. A single publisher that publishes less than this does not wait for a subscriber. If many publishers publish
        /// to one slow subscriber, each may make less wait, so that a slower publisher waits too.
        ///
        /// Others wait for a client that reads four times this rate for as long as they send more. For a slower client they wait during the
        /// measurement, 4 s by default, and a sixteenth of the time after it. A client that alternates between stalling and catching up
        /// therefore delays them by at most 8 s per minute.
        public var slowest = 256 << 10
        /// Bytes that may wait for all clients of one address together, beyond 64 KiB for each.
        ///
        /// A client whose queue would exceed it is treated as if its own queue were full. A message to many clients counts once.
        public var waitingPerAddress = 64 << 20
        /// The maximum length in bytes of a message from a client that has not joined; a longer one ends the connection with 1009.
        public var greeting = 64 << 10
        /// The bytes from a client that the router has not yet handled, above which nothing more is read from it.
        public var unheard = 256 << 10
        /// How long waiting messages may take to be sent when the connection is to be closed; the rest is dropped.
        public var closeTimeout: Duration = .seconds(5)
        /// How long each step of the authentication of a client may take.
        public var authentication: Duration = .seconds(5)
        /// How many logins from one address may fail, for any user; see ``WAMPRouterConfiguration/isBehindProxy``.
        public var failedLoginsPerAddress = LoginRate(burst: 20, pause: .seconds(1))
        /// How many logins as one user may fail, from all addresses except those from which the user has already logged in.
        public var failedLoginsPerUser = LoginRate(burst: 20, pause: .seconds(5))

        /// Creates the default limits.
        public init() {}
    }

    /// How many logins may fail.
    ///
    /// Further ones are delayed, or answered with `wamp.error.unavailable` if the delay would exceed 3 s.
    public struct LoginRate: Hashable, Sendable {
        /// The number allowed at once.
        public var burst: Int
        /// The time after which one more is allowed.
        public var pause: Duration

        /// Creates a rate.
        public init(burst: Int, pause: Duration) { (self.burst, self.pause) = (burst, pause) }
    }

    /// Where to listen, and the limits of connections.
    ///
    /// Compression is off by default: it uses memory for each connection, and an event is compressed again for each subscriber. One address
    /// may have 1,000 connections; behind a proxy see ``isBehindProxy``.
    public var server: WebSocketServerConfiguration = {
        var server = WebSocketServerConfiguration()
        server.compression = nil
        server.maximumConnectionsPerAddress = 1000
        server.unsentLimit = 128 * 1024
        return server
    }()
    /// Whether all clients come through a proxy that writes their addresses into `X-Forwarded-For`.
    ///
    /// The last address in that field is then used as the client's address, for limits per address and in the meta API. It can be trusted
    /// only if nobody but the proxy can reach the router. If this is false, all clients behind a proxy share one address.
    public var isBehindProxy = false
    /// The rules of the router, and the quirks that it imitates.
    public var policy: RouterPolicy
    /// Decides which clients may join; by default all, anonymously.
    public var authenticator: any WAMPAuthenticator = WAMPUsers()
    /// Decides what a session may do; nil allows everything.
    ///
    /// It is called for every publication, call, subscription and registration, on the router's event loop, so it must not block. A
    /// testament is checked as the call that adds it, and as the publication that it becomes. The last events of a subscription are checked
    /// as the call for them, and as the subscription.
    ///
    /// `match` tells whether a subscription or registration uses a pattern. A prefix such as `com.` stands for all URIs that begin with it,
    /// so a rule that checks only the URI does not cover what the pattern matches.
    public var authorization: (@Sendable (RouterSession, WAMPAction, _ uri: String, _ match: WAMPMatch) -> WAMPPermission)?
    /// The limits of one client.
    public var limits = Limits()
    /// The origins whose pages may connect, such as `https://example.org`, in addition to those on the router's own host.
    ///
    /// `*` is every origin. The router's host must be an address, a name of this machine, or the host of an origin in this list. Only
    /// browsers send an origin.
    public var origins: [String] {
        get { server.origins.allowed }
        set { server.origins.allowed = newValue }
    }
    /// The router's log; at the level `trace` it contains every message.
    public var logger = Logger(label: "holdfast.router")

    /// Creates the default configuration, with a policy.
    public init(policy: RouterPolicy = RouterPolicy()) { self.policy = policy }

    /// Returns the configuration of the underlying server.
    func serverConfiguration() -> WebSocketServerConfiguration {
        var server = server
        server.delivery = .messages
        // Clients are counted by the addresses that the proxy reports.
        if isBehindProxy { server.maximumConnectionsPerAddress = nil }
        return server
    }
}
