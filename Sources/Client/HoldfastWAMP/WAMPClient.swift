public import Holdfast
import HoldfastProtocols
import MachineCore
public import WAMPCore
import WebSocketRuntime

/// A client of WAMP v2 that survives: calls and topics over one WebSocket that outlives its connections.
///
/// ```swift
/// enum API {
///     static let add = Procedure<(Int, Int), Int>("com.app.add")
///     static let chat = Topic<ChatLine>("com.app.chat")
/// }
/// let wamp = WAMPClient("wss://example.com/ws", realm: "realm1")
/// let sum = try await wamp.call(API.add, 23, 7)
/// for try await event in try await wamp.subscribe(API.chat) { show(event.content) }
/// ```
///
/// After a loss it joins again with a fresh proof, and subscriptions and registrations stand again in their order. What
/// was under way ends with ``WAMPError/Code/connectionLost``, and streams say what may be missing. It ends with ``close()``, when the
/// router says that coming again makes no sense, or when the last reference to it is gone.
public final class WAMPClient: Sendable {
    /// The connection's life: its state, its statistics.
    public let socket: WebSocket
    let shell: WAMPShell
    private let run: Task<Void, Never>

    /// Starts to connect.
    ///
    /// - Parameters:
    ///   - url: `wss://…`, or `ws://…`.
    ///   - realm: The realm to join.
    ///   - authentication: How the app proves who it is.
    ///   - options: What is to be other than the defaults.
    ///   - configure: Changes what is to be other than the defaults of the socket; a logger given here is WAMP's, too, unless `options`
    ///     has one of its own.
    public convenience init(
        _ url: String, realm: String, authentication: WAMPAuthentication = .anonymous, options: WAMPOptions = WAMPOptions(),
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        let socket = WebSocket(url) { socket in
            WAMPOptions.prepare(&socket)
            configure(&socket)
            // It may have given another configuration.
            socket.connection.redirectsStayInOrigin = true
        }
        self.init(socket: socket, realm: realm, authentication: authentication, options: options)
    }

    /// Speaks over a socket that is there already; see ``WAMPOptions/prepare(_:_:)``.
    ///
    /// Nobody else should send over it. It is closed when this is, or when the last reference to this is gone.
    ///
    /// - Parameters:
    ///   - socket: The socket; it lives at least as long as this.
    ///   - realm: The realm to join.
    ///   - authentication: How the app proves who it is.
    ///   - options: What is to be other than the defaults.
    ///   - clock: What deadlines are measured with.
    ///   - seed: Where chance begins; by default another for each.
    public init<C: Clock>(
        socket: WebSocket, realm: String, authentication: WAMPAuthentication = .anonymous, options: WAMPOptions = WAMPOptions(),
        clock: C = ContinuousClock(), seed: UInt64 = .random(in: .min ... .max)
    ) where C.Duration == Duration {
        let context = WAMPContext(options.hearing(socket), authentication, socket.secrets)
        let machine = ClientMachine(policy: context.options.policy(realm, authentication), seed: seed)
        let shell = WAMPShell(machine, WAMPView(), context, over: socket, time: LinkTime(clock))
        (self.socket, self.shell) = (socket, shell)
        let events = socket.events
        // SAFETY: owned by this object and cancelled with it.
        run = Task { await shell.follow(events) }
    }

    deinit {
        run.cancel()
        // The task may hold the shell for a moment longer.
        shell.finish(nil)
    }

    /// How it stands with the router.
    public var state: WAMPState { shell.wampState }

    /// How it stands with the router, the present state first; ends with ``WAMPState/closed(_:)``.
    ///
    /// Whoever is slow misses states in between, never the last.
    public var states: StateSequence<WAMPState> {
        StateSequence(shell.changes) { [self] in
            let (version, state) = (shell.changes.version, state)
            return if case .closed = state { (state, version, true) } else { (state, version, false) }
        }
    }

    /// Waits until the session has joined.
    ///
    /// - Parameter patience: How long to wait; nil: as long as it takes.
    @discardableResult
    public func joined(within patience: Duration? = nil) async throws(WAMPError) -> JoinedSession {
        try await shell.joined(within: patience)
    }

    /// Leaves the realm and closes the socket for good; returns when that is done.
    ///
    /// The router is told goodbye, and has ``WAMPOptions/goodbyePatience`` to answer. What waits for an answer ends with
    /// ``WAMPError/Code/closed``, streams end in peace.
    public func close() async { await shell.close() }
}

extension WAMPClient: CustomStringConvertible, CustomReflectable {
    /// How it stands with the router; holds no secrets.
    public var description: String { "a client of WAMP, \(state)" }

    /// Its state: a dump tells no secret either.
    public var customMirror: Mirror { Mirror(self, children: ["state": state, "socket": socket]) }
}

extension WAMPClient {
    /// How many messages wait because the connection takes nothing.
    package var waitingToSend: Int { shell.waitingToSend }
}

/// How a ``WAMPClient`` stands with its router; see ``WAMPClient/states``.
public enum WAMPState: Sendable {
    /// A connection is being made, or the session is joining.
    case connecting
    /// The session has joined its realm.
    case joined(JoinedSession)
    /// There is no connection, and another attempt follows by itself; why, if that is known.
    case waiting(WAMPError?)
    /// Over for good: nil if the app has closed.
    case closed(WAMPError?)

    /// The session, if it has joined.
    public var session: JoinedSession? { if case .joined(let session) = self { session } else { nil } }
}
