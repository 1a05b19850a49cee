public import CodecCore
public import Holdfast
import HoldfastCodecs
public import HoldfastProtocols
import ProtocolCore
public import SocketIOCore
import WebSocketCore
import WebSocketRuntime

/// Returns the payload with which a namespace is asked for, such as `["token": token]`; the client asks again for every attempt.
///
/// It must encode as an object; a value that encodes as null is not sent. It may throw `CredentialUnavailable` to say that asking again
/// cannot help.
public typealias SocketIOPayload = @Sendable () async throws -> any Encodable & Sendable

/// The state of a namespace.
public enum SocketIOState: Sendable {
    /// The client connects, or asks for the namespace.
    case connecting
    /// The server has accepted. `isRecovered`: it has sent all events that were missed since the last connection.
    case connected(isRecovered: Bool)
    /// The connection was lost for this reason, and the client tries to reconnect.
    case waiting(WebSocketError)
    /// The server has refused the namespace. The client asks again with a new payload if `isFinal` is false.
    case refused(SocketIORefusal, isFinal: Bool)
    /// The namespace was left until ``SocketIOClient/connect()``.
    case disconnected(byServer: Bool)
    /// Closed for good; the error is nil if this side closed.
    case closed(WebSocketError?)
}

/// A Socket.IO client over a WebSocket that reconnects: one namespace of a connection.
///
/// ```swift
/// let chat = Event<(String, Int)>("chat")
/// let socket = SocketIOClient("https://example.com") { ["token": try await tokens.fresh()] }
/// try await socket.emit(chat, "hi", 3)
/// for try await event in socket.on(chat) { if let (text, count) = event.content { show(text, count) } }
/// ```
/// It speaks Socket.IO protocol 5, the one of Socket.IO 3 and 4; with ``SocketIOOptions/version``, that of older servers. After a lost connection it asks for the namespace again. If the server
/// could not recover the session, each listener gets a ``SocketIOEvent/gap(_:)``.
///
/// The client ends with ``close()``, or when the last reference to it and to its sequences is gone.
public final class SocketIOClient: Sendable {
    /// The namespace.
    public let name: String
    /// The socket below, with the connection's state and statistics; all namespaces of the connection share it.
    public var socket: WebSocket { client.socket }
    private let client: ProtocolClient<SocketIOMachine>
    private let options: SocketIOOptions
    private let time: LinkTime
    /// Announced when the state changes.
    private let changes = Changes()
    private let task: Task<Void, Never>

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - url: `https://host`, `http://…`, `wss://…` or `ws://…`. Its path, if it has one, replaces ``SocketIOOptions/path``. Its query is sent.
    ///   - namespace: The namespace, such as `/chat`.
    ///   - options: The options.
    ///   - payload: Returns the payload with which the namespace is asked for; nil: none.
    ///   - configure: Changes the options of the socket, for example its headers.
    public convenience init(
        _ url: String, namespace: String = "/", options: SocketIOOptions = SocketIOOptions(), payload: SocketIOPayload? = nil,
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        let socket = WebSocket(options.address(url)) { socket in
            options.prepare(&socket)
            configure(&socket)
            // The closure may have replaced the configuration.
            socket.connection.redirectsStayInOrigin = true
        }
        self.init(over: socket, namespace: namespace, options: options, payload: payload)
    }

    /// Creates a client over an existing socket; see ``SocketIOOptions/prepare(_:)``.
    ///
    /// Nothing else should send over this socket. Its URL must have the query `EIO=4&transport=websocket`, with 3 instead of 4 for
    /// ``SocketIOVersion/v4``.
    ///
    /// - Parameters:
    ///   - socket: The socket; the client keeps it alive.
    ///   - namespace: The namespace, such as `/chat`.
    ///   - options: The options.
    ///   - clock: The clock for all delays.
    ///   - payload: Returns the payload with which the namespace is asked for; nil: none.
    public convenience init<C: Clock>(
        over socket: WebSocket, namespace: String = "/", options: SocketIOOptions = SocketIOOptions(), clock: C = ContinuousClock(),
        payload: SocketIOPayload? = nil
    ) where C.Duration == Duration {
        let machine = SocketIOMachine(options.policy(seed: .random(in: 0 ... .max)))
        let client = ProtocolClient(machine, over: socket, clock: clock) { [version = options.version] _ throws(ConnectionEnd) in
            SocketIOCoding(version)
        }
        self.init(client, namespace, options, LinkTime(clock), payload)
    }

    /// Returns a client for another namespace of the same connection.
    ///
    /// - Parameters:
    ///   - name: The namespace, such as `/chat`.
    ///   - payload: Returns the payload with which it is asked for; nil: none. Of several clients for one namespace, the first that has a
    ///     closure is asked.
    public func namespace(_ name: String, payload: SocketIOPayload? = nil) -> SocketIOClient {
        SocketIOClient(client, name, options, time, payload)
    }

    private init(
        _ client: ProtocolClient<SocketIOMachine>, _ namespace: String, _ options: SocketIOOptions, _ time: LinkTime,
        _ payload: SocketIOPayload?
    ) {
        let name = namespace.hasPrefix("/") ? namespace : "/" + namespace
        (self.client, self.name, self.options, self.time) = (client, name, options, time)
        let source = payload.map { payload in
            TokenSource(
                within: options.payloadTimeout, on: time, secrets: client.socket.secrets,
                payload: {
                    try SocketIOCoder.encoder.encode(try await payload()).json()
                })
        }
        let events = client.stream(delivery: .everyMessage()) {
            .join($0, name, hasPayload: source != nil)
        } cancel: {
            .leave($0, name)
        }
        // SAFETY: owned by this object and cancelled with it.
        task = Task { [changes] in
            await withDiscardingTaskGroup { group in
                group.addTask { for await _ in client.states { changes.announce() } }
                group.addTask {
                    do throws(WebSocketError) {
                        for try await event in events {
                            changes.announce()
                            if event.content == .payloadNeeded { await Self.authenticate(name, source, client) }
                        }
                    } catch {}
                    changes.announce()
                }
            }
        }
    }

    deinit { task.cancel() }

    /// Gets the payload, and gives it to the rules.
    private static func authenticate(_ name: String, _ source: TokenSource?, _ client: ProtocolClient<SocketIOMachine>) async {
        do throws(TokenSource.Failure) {
            client.perform(.authenticate(name, payload: try await source?.payload()))
        } catch {
            let isFinal = if case .refused = error { true } else { false }
            client.perform(.noPayload(name, reason: "the app gave no payload for the namespace", isFinal: isFinal))
        }
    }

    // MARK: - Sending

    /// Sends an event, and returns when the connection has taken it.
    ///
    /// Without a connection the event waits, within ``SocketIOOptions/waitingLimit``. The server does not confirm it: an event may be lost
    /// with its connection. ``emit(_:_:ack:within:)`` waits for an acknowledgement.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - part: Its arguments.
    ///   - patience: How long it waits for the connection; nil: no limit.
    public func emit<each Part: Codable & Sendable>(
        _ event: Event<(repeat each Part)>, _ part: repeat each Part, within patience: Duration? = nil
    ) async throws(SocketIOFailure) {
        let arguments = try SocketIOCoder.arguments(event.name) { try event.encode((repeat each part)) }
        _ = try await send(arguments, .plain, within: patience)
    }

    /// Sends an event without types; otherwise as ``emit(_:_:within:)``.
    public func emit(_ name: String, _ arguments: [Value] = [], within patience: Duration? = nil) async throws(SocketIOFailure) {
        _ = try await send(try SocketIOCoder.arguments(name) { arguments }, .plain, within: patience)
    }

    /// Sends an event only if that is possible at once; returns whether the connection took it.
    ///
    /// An event that is taken may still be dropped while the connection accepts nothing.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - part: Its arguments.
    public func emitVolatile<each Part: Codable & Sendable>(
        _ event: Event<(repeat each Part)>, _ part: repeat each Part
    ) async throws(SocketIOFailure) -> Bool {
        let arguments = try SocketIOCoder.arguments(event.name) { try event.encode((repeat each part)) }
        do throws(SocketIOFailure) {
            _ = try await send(arguments, .volatile, within: nil)
            return true
        } catch {
            if error.code == .disconnected { return false }
            throw error
        }
    }

    /// Sends an event once, and waits for the server's acknowledgement.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - part: Its arguments.
    ///   - type: The type of the first argument of the acknowledgement; nil if it has none and the type allows it.
    ///   - patience: How long to wait for the connection and the acknowledgement; nil: ``SocketIOOptions/answerTimeout``.
    /// - Throws: The failure; ``SocketIOFailure/mayHaveArrived`` says whether the event may have taken effect.
    public func emit<each Part: Codable & Sendable, Reply: Decodable & Sendable>(
        _ event: Event<(repeat each Part)>, _ part: repeat each Part, ack type: Reply.Type, within patience: Duration? = nil
    ) async throws(SocketIOFailure) -> Reply {
        let arguments = try SocketIOCoder.arguments(event.name) { try event.encode((repeat each part)) }
        return try Self.reply(type, try await send(arguments, .acknowledged, within: patience ?? options.answerTimeout))
    }

    /// Sends an event until the server acknowledges it.
    ///
    /// The events of this method are sent one after the other: the next one follows the acknowledgement of the one before. The server may get
    /// an event more than once, so it should carry an id by which the server recognises it.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - part: Its arguments.
    ///   - type: The type of the first argument of the acknowledgement.
    ///   - patience: How long to wait for the acknowledgement before the event is sent again.
    ///   - retries: How often it is sent again at most, not counting reconnects.
    public func emit<each Part: Codable & Sendable, Reply: Decodable & Sendable>(
        _ event: Event<(repeat each Part)>, _ part: repeat each Part, ack type: Reply.Type, within patience: Duration = .seconds(10),
        retries: Int
    ) async throws(SocketIOFailure) -> Reply {
        let arguments = try SocketIOCoder.arguments(event.name) { try event.encode((repeat each part)) }
        return try Self.reply(type, try await send(arguments, .retried(max(retries, 0), after: patience), within: nil))
    }

    /// Sends an event without types, and returns the arguments of its acknowledgement.
    ///
    /// - Parameters:
    ///   - name: The name of the event.
    ///   - arguments: Its arguments.
    ///   - patience: How long to wait for the connection and the acknowledgement; nil: ``SocketIOOptions/answerTimeout``.
    ///   - retries: How often the event is sent again at most, each time after `patience`, as with ``emit(_:_:ack:within:retries:)``. Nil:
    ///     it is sent once.
    public func request(
        _ name: String, _ arguments: [Value] = [], within patience: Duration? = nil, retries: Int? = nil
    ) async throws(SocketIOFailure) -> [Value] {
        let sent = try SocketIOCoder.arguments(name) { arguments }
        let patience = patience ?? options.answerTimeout
        guard let retries else { return try Self.values(try await send(sent, .acknowledged, within: patience)) }
        return try Self.values(try await send(sent, .retried(max(retries, 0), after: patience), within: nil))
    }

    private func send(
        _ arguments: SocketIOArguments, _ kind: SocketIOEmit.Kind, within patience: Duration?
    ) async throws(SocketIOFailure) -> SocketIOArguments? {
        let event: SocketIOMachine.Event
        do throws(WebSocketError) {
            event = try await client.request { [name] in
                .emit(SocketIOEmit($0, name, arguments, kind), patience: patience)
            } cancel: { [name] in
                .cancel($0, name)
            }
        } catch {
            throw SocketIOFailure(error)
        }
        switch event.content {
        case .acknowledged(let arguments): return arguments
        case .failed(let failure): throw SocketIOFailure(of: failure)
        default: return nil
        }
    }

    private static func values(_ arguments: SocketIOArguments?) throws(SocketIOFailure) -> [Value] {
        do { return try arguments?.values() ?? [] } catch { throw undecodable("an acknowledgement", error) }
    }

    private static func reply<Reply: Decodable>(_ type: Reply.Type, _ arguments: SocketIOArguments?) throws(SocketIOFailure) -> Reply {
        do {
            return try SocketIOCoder.decode(PositionalParts<Reply>.self, arguments ?? SocketIOArguments(json: Array("[]".utf8))).parts
        } catch { throw undecodable("\(type)", error) }
    }

    private static func undecodable(_ what: String, _ error: any Error) -> SocketIOFailure {
        SocketIOFailure(.undecodable, detail: what, mayHaveArrived: true, underlying: error)
    }

    // MARK: - Listening

    /// Returns the events with this name, from now on; any number of consumers may listen.
    ///
    /// The sequence throws when the server refuses the namespace for good. It keeps this client alive.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - delivery: What happens to events that arrive while the consumer is busy. No delivery drops a gap.
    public func on<Content: Sendable>(
        _ event: Event<Content>, delivery: StreamDelivery<SocketIOEvent<Content>> = .everyMessage()
    ) -> RequestEvents<SocketIOEvent<Content>, SocketIOFailure> {
        listen(event.name, delivery, event.decode)
    }

    /// Returns all events of the server without types; otherwise as ``on(_:delivery:)``.
    ///
    /// - Parameter delivery: What happens to events that arrive while the consumer is busy.
    public func onAny(
        delivery: StreamDelivery<SocketIOEvent<[Value]>> = .everyMessage()
    ) -> RequestEvents<SocketIOEvent<[Value]>, SocketIOFailure> {
        listen(nil, delivery) { arguments in Array(try arguments.values().dropFirst()) }
    }

    private func listen<Content: Sendable>(
        _ event: String?, _ delivery: StreamDelivery<SocketIOEvent<Content>>,
        _ decode: @escaping @Sendable (SocketIOArguments) throws -> Content
    ) -> RequestEvents<SocketIOEvent<Content>, SocketIOFailure> {
        let (failure, source) = (LockedValue<SocketIOFailure?>(nil), SocketIOSource(client: client, name: name))
        // The closure holds this client, so that the namespace stays joined while someone listens.
        let convert: EventConversion<SocketIOMachine.Event, SocketIOEvent<Content>> = { [self] news, event in
            switch news.content {
            case .message(let message):
                do {
                    let content = try decode(message.arguments)
                    event = .event(ReceivedEvent(name: message.name, content: content, message: message, source: source))
                } catch {
                    event = .undecodable(SocketIOFailure(.undecodable, detail: message.name, mayHaveArrived: true, underlying: error))
                }
            case .gap(let away): event = .gap(away)
            case .failed(let cause):
                failure.withLockedValue { $0 = SocketIOFailure(of: cause) }
                return false
            default: return withExtendedLifetime(self) { false }
            }
            return true
        }
        let key = event.map { "=\($0)\n\(name)" } ?? "*\n\(name)"
        let keepsAll = { [client] in client.keepsAll($0) }
        let events = client.stream(delivery: delivery, sharing: key, keepsAll: keepsAll, as: convert, isNote: \.isGap) { [name] in
            .listen($0, name, event: event)
        } cancel: { [name] in
            .unlisten($0, name, event: event)
        }
        return RequestEvents(events, outcome: failure) { SocketIOFailure($0) }
    }

    // MARK: - State

    /// The state of the namespace.
    public var state: SocketIOState {
        let connection = client.state
        if case .closed(let error) = connection { return .closed(error) }
        switch client.read({ $0.state(of: name)?.state }) {
        case .connected(_, let isRecovered)?: return .connected(isRecovered: isRecovered)
        case .pausing(_, let refusal)?: return .refused(refusal, isFinal: false)
        case .refused(let refusal)?: return .refused(refusal, isFinal: true)
        case .left(let byServer)?: return .disconnected(byServer: byServer)
        case .absent?, .asking?, .connecting?, nil: return if case .waiting(let error) = connection { .waiting(error) } else { .connecting }
        }
    }

    /// The states, starting with the present one; ends with ``SocketIOState/closed(_:)``.
    public var states: StateSequence<SocketIOState> {
        StateSequence(changes) { [self] in
            // Read before the state, so that a change in between is not missed.
            let version = (client.read { $0.state(of: name)?.version } ?? 0) << 32 | client.stateVersion
            let state = state
            return if case .closed = state { (state, version, true) } else { (state, version, false) }
        }
    }

    /// The id of the session on the server; nil without one.
    ///
    /// Each connection has another, unless the server recovers the session.
    public var sessionID: String? {
        if case .connected(let sid, _)? = client.read({ $0.state(of: name)?.state }) { sid } else { nil }
    }

    /// Waits until the server has accepted the namespace.
    ///
    /// - Parameter patience: The time limit; nil: no limit.
    /// - Throws: `timedOut` with the last failure as its ``SocketIOFailure/underlying``, `refused`, `disconnected`, `closed` or `cancelled`.
    public func ready(within patience: Duration? = nil) async throws(SocketIOFailure) {
        let limit = patience.map { time.now() + $0 }
        let isReady = try await changes.first(until: limit, on: time) { () throws(SocketIOFailure) -> Bool? in
            switch state {
            case .connected: return true
            case .refused(let refusal, isFinal: true): throw SocketIOFailure(.refused, refusal: refusal)
            case .disconnected: throw SocketIOFailure(.disconnected)
            case .closed(let error): throw SocketIOFailure(.closed, detail: error.map { "\($0)" } ?? "", underlying: error)
            case .connecting, .waiting, .refused: return nil
            }
        }
        if isReady == true { return }
        if Task.isCancelled { throw SocketIOFailure(.cancelled) }
        let cause: (any Error)? =
            switch state {
            case .waiting(let error): error
            case .refused(let refusal, _): refusal
            default: nil
            }
        throw SocketIOFailure(.timedOut, detail: cause.map { "\($0)" } ?? "the server did not accept the namespace", underlying: cause)
    }

    /// Asks for the namespace again after it was left or refused for good.
    public func connect() { client.perform(.connect(name)) }

    /// Leaves the namespace until ``connect()``; waiting events fail.
    public func disconnect() { client.perform(.disconnect(name)) }

    /// Closes the connection with all its namespaces for good; returns when that is done.
    public func close() async { await client.close() }

    /// Runs in the calling task until the connection ends, and closes it when the task is cancelled.
    ///
    /// - Throws: The error that ended the socket.
    public func run() async throws(WebSocketError) { try await client.run() }
}
