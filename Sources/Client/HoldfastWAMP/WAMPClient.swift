public import Holdfast
import HoldfastProtocols
import MachineCore
public import WAMPCore
import WebSocketRuntime

/// A WAMP v2 client that reconnects: calls and topics over one logical connection.
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
/// After a lost connection the client joins again, with a new authentication, and restores its subscriptions and registrations in their
/// order. Pending requests end with ``WAMPError/Code/connectionLost``, and streams report where events may be missing. The client ends
/// with ``close()``, when the router refuses it for good, or when the last reference to it is released.
public final class WAMPClient: Sendable {
    /// The socket below, with the connection's state and statistics.
    public let socket: WebSocket
    let shell: WAMPShell
    private let task: Task<Void, Never>

    /// Creates a client and starts to connect.
    ///
    /// - Parameters:
    ///   - url: `wss://…`, or `ws://…`.
    ///   - realm: The realm to join.
    ///   - authentication: The authentication of the app.
    ///   - options: The options of the client.
    ///   - configure: Changes the options of the socket. The client uses the socket's logger too, unless `options` has one of its own.
    public convenience init(
        _ url: String, realm: String, authentication: WAMPAuthentication = .anonymous, options: WAMPOptions = WAMPOptions(),
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        let socket = WebSocket(url) { socket in
            WAMPOptions.prepare(&socket)
            configure(&socket)
            // The closure may have replaced the configuration.
            socket.connection.redirectsStayInOrigin = true
        }
        self.init(over: socket, realm: realm, authentication: authentication, options: options)
    }

    /// Creates a client over an existing socket; see ``WAMPOptions/prepare(_:_:)``.
    ///
    /// Nothing else should send over this socket. It is closed when the client is closed, or when the last reference to the client is
    /// released.
    ///
    /// - Parameters:
    ///   - socket: The socket; it lives at least as long as the client.
    ///   - realm: The realm to join.
    ///   - authentication: The authentication of the app.
    ///   - options: The options of the client.
    ///   - clock: The clock for deadlines.
    ///   - seed: The seed of the random numbers; by default different for each client.
    public init<C: Clock>(
        over socket: WebSocket, realm: String, authentication: WAMPAuthentication = .anonymous, options: WAMPOptions = WAMPOptions(),
        clock: C = ContinuousClock(), seed: UInt64 = .random(in: .min ... .max)
    ) where C.Duration == Duration {
        let context = WAMPContext(options.hearing(socket), authentication, socket.secrets)
        let machine = ClientMachine(policy: context.options.policy(realm, authentication), seed: seed)
        let shell = WAMPShell(machine, WAMPView(), context, over: socket, time: LinkTime(clock))
        (self.socket, self.shell) = (socket, shell)
        let events = socket.events
        // SAFETY: owned by this object, which cancels it when it is released.
        task = Task { await shell.follow(events) }
    }

    deinit {
        task.cancel()
        // The task may hold the shell for a moment longer.
        shell.finish(nil)
    }

    /// The state of the session.
    public var state: WAMPState { shell.wampState }

    /// The state of the session, starting with the current one; ends with ``WAMPState/closed(_:)``.
    ///
    /// A slow reader misses states in between, but never the last one.
    public var states: StateSequence<WAMPState> {
        StateSequence(shell.changes) { [self] in
            let (version, state) = (shell.changes.version, state)
            return if case .closed = state { (state, version, true) } else { (state, version, false) }
        }
    }

    /// Waits until the session has joined.
    ///
    /// - Parameter patience: How long to wait; nil waits without a limit.
    @discardableResult
    public func joined(within patience: Duration? = nil) async throws(WAMPError) -> JoinedSession {
        try await shell.joined(within: patience)
    }

    /// Leaves the realm and closes the socket for good; returns when both are done.
    ///
    /// The client sends GOODBYE, and the router has ``WAMPOptions/goodbyePatience`` to answer. Pending requests end with
    /// ``WAMPError/Code/closed``, and streams end regularly.
    /// It is done to its end, also in a task that is cancelled.
    public func close() async {
        // SAFETY: ends when the router has answered, at the latest after `goodbyePatience`, and with the close handshake, which has a deadline.
        await Task { [shell] in await shell.close() }.value
    }

    /// Runs in the calling task until the client is closed for good, and calls ``close()`` when the task is cancelled.
    ///
    /// `WebSocket.run()` says more. This returns when the socket has closed, too.
    ///
    /// - Throws: The error that ended the client. It throws nothing if this side closed it.
    public func run() async throws(WAMPError) {
        guard case .closed(let error) = await states.last() else { return await close() }
        _ = await socket.states.last()
        if let error { throw error }
    }
}

extension WAMPClient: CustomStringConvertible, CustomReflectable {
    /// The state of the session; contains no secrets.
    public var description: String { "WAMP client, \(state)" }

    /// The state and the socket, so that a dump contains no secrets either.
    public var customMirror: Mirror { Mirror(self, children: ["state": state, "socket": socket]) }
}

extension WAMPClient {
    /// The number of messages that wait because the connection accepts no data.
    package var waitingToSend: Int { shell.waitingToSend }
}

/// The state of a ``WAMPClient``'s session; see ``WAMPClient/states``.
public enum WAMPState: Sendable {
    /// The client is connecting, or the session is joining.
    case connecting
    /// The session has joined its realm.
    case joined(JoinedSession)
    /// There is no connection, and the client will try again; with the cause, if it is known.
    case waiting(WAMPError?)
    /// The client has ended for good; the error is nil if the app closed it.
    case closed(WAMPError?)

    /// The session, if it has joined.
    public var session: JoinedSession? { if case .joined(let session) = self { session } else { nil } }
}
