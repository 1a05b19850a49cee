public import HoldfastServer
public import Logging
public import WAMPCore
import Holdfast
import WebSocketCore

/// Everything about a router that can be chosen; the defaults suit development on one machine.
public struct WAMPRouterConfiguration: Sendable {
    /// What one client may cost.
    public struct Limits: Hashable, Sendable {
        /// Bytes that others may make wait for a client beside what its connection holds, and as many again that it asked for itself.
        ///
        /// Whoever makes more than a quarter of it wait is read no further until the client has taken some. Beyond it a call is answered
        /// `wamp.error.unavailable`, and an event is left out. The client is cut off for what it asked for itself and does not take, and
        /// for events if it is slower than ``slowest``. Less than a few messages of the length that `server.limits.message` allows
        /// refuses what clients that are not slow would take.
        public var waiting = 4 << 20
        /// Bytes a second that every client can be held to take while something waits for it.
        ///
        /// The router looks at a client for as long as a quarter of ``waiting`` takes at this rate. If the client takes fewer, nobody waits
        /// for it any longer. A lone publisher that publishes less than this does not wait for a subscriber. With many publishers to one
        /// slow subscriber each may make less wait, so that a slower one waits, too.
        ///
        /// Others wait for a client that takes four times this for as long as they send more. For one that takes less they wait as long as
        /// the router looks at it, 4 s by default, and a sixteenth of the time that follows: so a client that stalls and catches up by
        /// turns delays them by 8 s in a minute at most.
        public var slowest = 256 << 10
        /// Bytes that wait for all clients of one address together, beyond 64 KiB for each.
        ///
        /// A client whose queue would exceed it is treated as one whose own queue is full. What many clients are told at once counts once.
        public var waitingPerAddress = 64 << 20
        /// How long a message may be, in bytes, of a client that has not joined; one that is longer ends the connection with 1009.
        public var greeting = 64 << 10
        /// Bytes that a client has sent and the router has not looked at, before nothing more is read of it.
        public var unheard = 256 << 10
        /// How long what waits may take to leave when the connection is to be closed; what has not left by then is dropped.
        public var farewell: Duration = .seconds(5)
        /// How long finding out who a client is may take, for each step.
        public var authentication: Duration = .seconds(5)
        /// How many logins of one address may fail, whomever they name; see ``WAMPRouterConfiguration/isBehindProxy``.
        public var failedLoginsPerAddress = LoginRate(burst: 20, pause: .seconds(1))
        /// How many logins as one user may fail, wherever they come from, but for addresses from where that user has logged in.
        public var failedLoginsPerUser = LoginRate(burst: 20, pause: .seconds(5))

        /// The defaults.
        public init() {}
    }

    /// How many logins may fail; more are examined later, or answered `wamp.error.unavailable` if they would wait for over 3 s.
    public struct LoginRate: Hashable, Sendable {
        /// So many at once.
        public var burst: Int
        /// And another each time that so long has passed.
        public var pause: Duration

        /// A rate.
        public init(burst: Int, pause: Duration) { (self.burst, self.pause) = (burst, pause) }
    }

    /// Where to listen, and what a connection may cost.
    ///
    /// Compression is off unless it is asked for here: it costs memory for each connection, and then an event is compressed for each
    /// subscriber anew. One address may have 1,000 connections; behind a proxy see ``isBehindProxy``.
    public var server: WebSocketServerConfiguration = {
        var server = WebSocketServerConfiguration()
        server.compression = nil
        server.maximumConnectionsPerAddress = 1000
        server.unsentLimit = 128 * 1024
        return server
    }()
    /// Whether all clients come through a proxy, which writes their addresses into `X-Forwarded-For`.
    ///
    /// The last address there is then the client's, as long as nobody but the proxy can reach the router: it is what limits per address
    /// count, and what the meta API shows. Without this a proxy is one address with all clients behind it.
    public var isBehindProxy = false
    /// What it allows, and whose quirks it has.
    public var policy: RouterPolicy
    /// Who decides who may join; by default everybody may, as nobody in particular.
    public var authenticator: any WAMPAuthenticator = WAMPUsers()
    /// Decides what a session may do; nil: everything.
    ///
    /// Called for every publication, call, subscription and registration, on the router's event loop: it answers by what it knows, and
    /// never waits. A testament is asked for as the call that leaves it, and as the publication that it becomes; the last events of a
    /// subscription as the call for them, and as the subscription.
    ///
    /// Subscriptions and registrations may be of patterns, which `match` tells: a prefix such as `com.` stands for all that begins with
    /// it, so a rule that looks at the URI alone says nothing of what it stands for.
    public var authorization: (@Sendable (RouterSession, WAMPAction, _ uri: String, _ match: WAMPMatch) -> WAMPPermission)?
    /// What one client may cost.
    public var limits = Limits()
    /// The origins whose pages may connect, such as `https://example.org`, beside those on the router's own host; `*` is every origin.
    ///
    /// That host has to be an address, a name of this machine, or that of an origin named here. Only browsers say an origin.
    public var origins: [String] {
        get { server.origins.allowed }
        set { server.origins.allowed = newValue }
    }
    /// What the router tells of itself; at the level `trace` each message, in words.
    public var logger = Logger(label: "holdfast.router")

    /// The defaults, with a policy.
    public init(policy: RouterPolicy = RouterPolicy()) { self.policy = policy }

    /// The configuration of the server below, as the router needs it.
    func serverConfiguration() -> WebSocketServerConfiguration {
        var server = server
        server.delivery = .messages
        // They are counted by the addresses that the proxy tells.
        if isBehindProxy { server.maximumConnectionsPerAddress = nil }
        return server
    }
}
