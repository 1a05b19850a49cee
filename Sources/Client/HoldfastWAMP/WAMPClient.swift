public import CodecCore
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

/// Calling procedures.
///
/// A call ends exactly once: with its result, the error of the router or the callee, its timeout, its cancellation, or a lost connection.
/// If the task is cancelled, the call throws at once and the router is told. While no session has joined, a call waits for one; see
/// `CallOptions.joinPatience`.
extension WAMPClient {
    /// Calls a procedure with positional arguments; a single argument is the whole input.
    ///
    /// - Parameters:
    ///   - procedure: The procedure.
    ///   - input: The positional arguments.
    ///   - options: The options.
    /// - Throws: ``WAMPError``.
    public func call<each Argument, Output>(
        _ procedure: Procedure<(repeat each Argument), Output>, _ input: repeat each Argument, options: CallOptions = CallOptions()
    ) async throws(WAMPError) -> Output {
        let arguments: WAMPArguments
        do { arguments = try procedure.input.encode((repeat each input), shell.serialization) } catch {
            throw .unencodable(error, "CALL \(procedure.uri)")
        }
        let result = try await shell.call(procedure.uri, arguments, options)
        do { return try procedure.output.decode(result) } catch { throw .undecodable(error, "CALL \(procedure.uri)") }
    }

    /// Calls a procedure by its URI.
    ///
    /// - Parameters:
    ///   - uri: The procedure's URI.
    ///   - list: The positional arguments.
    ///   - keywords: The keyword arguments.
    ///   - options: The options.
    @discardableResult
    public func call(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions()
    ) async throws(WAMPError) -> WAMPArguments {
        try await shell.call(uri, WAMPArguments(list, keywords: keywords), options)
    }

    // MARK: - Progressive calls

    /// Calls a procedure whose result comes in parts; the last part is the final result.
    ///
    /// The call begins at once. If the consumer leaves 4,096 parts unread, the call is cancelled with ``WAMPError/Code/overrun``.
    public func callProgressively<each Argument, Output>(
        _ procedure: Procedure<(repeat each Argument), Output>, _ input: repeat each Argument, options: CallOptions = CallOptions()
    ) throws(WAMPError) -> CallProgress<Output> {
        let arguments: WAMPArguments
        do { arguments = try procedure.input.encode((repeat each input), shell.serialization) } catch {
            throw .unencodable(error, "CALL \(procedure.uri)")
        }
        return CallProgress(call: shell.beginProgress(procedure.uri, arguments, options, isInParts: false), form: procedure.output)
    }

    /// Calls a procedure by its URI whose result comes in parts; the last part is the final result.
    public func callProgressively(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions()
    ) throws(WAMPError) -> CallProgress<WAMPArguments> {
        CallProgress(call: shell.beginProgress(uri, WAMPArguments(list, keywords: keywords), options, isInParts: false), form: .raw)
    }

    /// Calls a procedure by its URI with input in parts, of which this is the first.
    ///
    /// The call fails with ``WAMPError/Code/unsupported`` if the router does not support this.
    public func callInParts(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: CallOptions = CallOptions()
    ) throws(WAMPError) -> CallInParts {
        CallInParts(call: shell.beginProgress(uri, WAMPArguments(list, keywords: keywords), options, isInParts: true))
    }
}

/// Publishing and subscribing.
extension WAMPClient {
    /// Publishes an event.
    ///
    /// Without `PublishOptions.isAcknowledged` this returns when the event was sent; with it, when the router has accepted the event.
    ///
    /// - Returns: The router's ID of the publication; nil without acknowledgement.
    @discardableResult
    public func publish<Content>(
        _ topic: Topic<Content>, _ content: Content, options: PublishOptions = PublishOptions()
    ) async throws(WAMPError) -> WAMPID? {
        guard topic.match == .exact else { throw WAMPError(.invalidURI, request: "PUBLISH \(topic.uri)", detail: "this is a pattern") }
        let arguments: WAMPArguments
        do { arguments = try topic.form.encode(content, shell.serialization) } catch { throw .unencodable(error, "PUBLISH \(topic.uri)") }
        return try await shell.publish(topic.uri, arguments, options)
    }

    /// Publishes an event to a topic by its URI.
    ///
    /// - Parameters:
    ///   - uri: The topic's URI.
    ///   - list: The positional arguments.
    ///   - keywords: The keyword arguments.
    ///   - options: The options.
    /// - Returns: The router's ID of the publication; nil without acknowledgement.
    @discardableResult
    public func publish(
        _ uri: String, _ list: [Value] = [], keywords: ValueMap = ValueMap(), options: PublishOptions = PublishOptions()
    ) async throws(WAMPError) -> WAMPID? {
        try await shell.publish(uri, WAMPArguments(list, keywords: keywords), options)
    }

    /// Subscribes to a topic; returns when the subscription is active.
    ///
    /// The events do not keep the client alive: they end when the last reference to the client is released.
    ///
    /// - Parameters:
    ///   - topic: The topic, or a pattern.
    ///   - options: The options. If several subscribers share a topic, the `other` of the first one is used.
    ///   - buffer: The policy for events that arrive while the consumer is busy.
    public func subscribe<Content>(
        _ topic: Topic<Content>, options: SubscribeOptions = SubscribeOptions(), buffer: EventBuffer = .dropOldest()
    ) async throws(WAMPError) -> Events<Content> {
        Events(feed: try await shell.subscribe(TopicKey(topic.uri, match: topic.match), options, buffer), form: topic.form)
    }

    /// Subscribes to a topic by its URI, or to a pattern; returns when the subscription is active.
    public func subscribe(
        _ uri: String, match: WAMPMatch = .exact, options: SubscribeOptions = SubscribeOptions(), buffer: EventBuffer = .dropOldest()
    ) async throws(WAMPError) -> Events<WAMPArguments> {
        try await subscribe(Topic.raw(uri, match: match), options: options, buffer: buffer)
    }
}

/// Registering procedures.
///
/// Each invocation runs in a task of its own, so a handler may call other procedures, and also itself. When the caller cancels the call
/// or the connection is lost, that task is cancelled. An error that a handler throws becomes an ERROR: a ``WAMPFailure`` unchanged, any
/// other error as converted by ``WAMPOptions/failure``.
extension WAMPClient {
    /// Registers a procedure; returns when the router has accepted it.
    ///
    /// Input that cannot be decoded as the declared type is answered with `wamp.error.invalid_argument`. If more than 4,096 parts of
    /// input wait for the handler, the call is answered with `wamp.error.unavailable`.
    ///
    /// A handler that uses the client must hold it weakly, because the client keeps the handler.
    ///
    /// - Parameters:
    ///   - procedure: The procedure; its URI may be a pattern.
    ///   - options: The options.
    ///   - handler: Answers a call.
    @discardableResult
    public func register<Input, Output>(
        _ procedure: Procedure<Input, Output>, options: RegisterOptions = RegisterOptions(),
        _ handler: @escaping @Sendable (Input, Invocation) async throws -> Output
    ) async throws(WAMPError) -> Registration {
        try await shell.register(procedure.uri, options, procedure.handler(handler, shell))
    }

    /// Registers a procedure by its URI; returns when the router has accepted it.
    @discardableResult
    public func register(
        _ uri: String, options: RegisterOptions = RegisterOptions(),
        handler: @escaping @Sendable (WAMPArguments, Invocation) async throws -> WAMPArguments
    ) async throws(WAMPError) -> Registration {
        try await register(Procedure.raw(uri), options: options, handler)
    }
}

extension Procedure {
    /// Wraps a handler of typed values as a handler of arguments.
    func handler(
        _ handler: @escaping @Sendable (Input, Invocation) async throws -> Output, _ shell: WAMPShell
    ) -> ProcedureHandler {
        { [input, output, weak shell] arguments, invocation in
            let value: Input
            do { value = try input.decode(arguments) } catch {
                throw WAMPFailure(WAMPURI.Error.invalidArgument, ["the arguments are not of the declared type"])
            }
            let result = try output.encode(try await handler(value, invocation), shell?.serialization)
            return result
        }
    }
}

extension WAMPClient {
    /// Asks the router to publish an event when this client is gone; returns when the router has accepted the testament.
    ///
    /// The client sends the testament again each time it joins, because the router publishes it at every lost connection. ``close()``
    /// counts as a lost connection too: to publish nothing, call ``flushTestaments(_:)`` before it.
    ///
    /// - Parameters:
    ///   - topic: The topic of the event.
    ///   - content: The content of the event.
    ///   - options: The options of the publication.
    ///   - scope: The time at which the router publishes it.
    public func addTestament<Content>(
        _ topic: Topic<Content>, _ content: Content, options: PublishOptions = PublishOptions(), scope: TestamentScope = .destroyed
    ) async throws(WAMPError) {
        let testament = try Testament(topic, content, options, scope, shell.serialization)
        _ = try await shell.call(Testament.procedure, testament.call, shell.options(handingIn: testament))
    }

    /// Asks the router to drop the testaments of a scope.
    public func flushTestaments(_ scope: TestamentScope = .destroyed) async throws(WAMPError) {
        try await shell.roomToSend(within: shell.context.options.answerPatience, "CALL \(Testament.flush)")
        shell.command(.forgetTestaments(scope))
        _ = try await shell.call(Testament.flush, scope.arguments, shell.options(handingIn: nil))
    }
}

extension Testament {
    convenience init<Content>(
        _ topic: Topic<Content>, _ content: Content, _ options: PublishOptions, _ scope: TestamentScope, _ serialization: WAMPSerialization?
    ) throws(WAMPError) {
        do {
            try self.init(topic: topic.uri, arguments: topic.form.encode(content, serialization), options: options, scope: scope)
        } catch {
            throw .unencodable(error, "CALL \(Self.procedure)")
        }
    }
}

extension TestamentScope {
    /// The arguments of a call that flushes this scope.
    var arguments: WAMPArguments { WAMPArguments(keywords: ["scope": .text(rawValue)]) }
}

extension WAMPShell {
    func options(handingIn testament: Testament?) -> CallOptions {
        var options = CallOptions(timeout: context.options.answerPatience)
        options.testament = testament
        return options
    }
}
