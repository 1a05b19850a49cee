public import Holdfast
import MachineCore
public import ProtocolCore
public import WebSocketCore
import WebSocketRuntime

/// A client that runs your own protocol over a `WebSocket`: you write the rules, and the client does the rest.
///
/// <doc:YourOwnProtocol> builds one step by step.
/// ```swift
/// let client = ProtocolClient(BoardRules(name: name, seed: seed), over: socket) { _ in CodableCoding<BoardReply, BoardRequest>() }
/// ```
/// Messages to the peer are sent in order, and wait while the connection accepts nothing. If a peer requests more than it accepts, the
/// client stops reading. Every request gets one result: its last event, or an error.
///
/// The client ends with ``close()``, with the socket, when the rules say `stop`, or when the last reference to it is gone.
public final class ProtocolClient<Rules: ProtocolMachine>: Sendable where Rules.Event: ProtocolEvent {
    /// The socket, for the connection's state and statistics.
    public let socket: WebSocket
    @usableFromInline let shell: ClientShell<Rules>
    @usableFromInline let task: Task<Void, Never>
    @usableFromInline let lastRequest = LockedValue<UInt64>(0)

    /// Creates a client that speaks its protocol over a socket.
    ///
    /// Do not send over the socket by other means. The client closes it when the rules say so, in ``close()``, and when the last reference
    /// to the client is gone.
    ///
    /// - Parameters:
    ///   - rules: The protocol's machine in its state before the first connection.
    ///   - socket: The socket; the client keeps it alive.
    ///   - clock: The clock for the machine's deadlines.
    ///   - coding: Creates the coding of each connection; the subprotocol says which version was agreed on. It may take time, for example to
    ///     get a token; nothing is read before it returns. An error ends the connection without telling the rules.
    ///     The coding decodes on the connection's event loop, so it must not block.
    @inlinable public init<Coding: ProtocolCoding, C: Clock>(
        _ rules: Rules, over socket: WebSocket, clock: C = ContinuousClock(),
        coding: @escaping @Sendable (Opening) async throws(ConnectionEnd) -> Coding
    )
    where Coding.Greeting == Rules.Greeting, Coding.Received == Rules.Received, Coding.Sent == Rules.Sent, C.Duration == Duration {
        let context = ClientContext<Rules> { opening throws(ConnectionEnd) in ClientCoding(try await coding(opening)) }
        let shell = ClientShell(rules, ClientView(), context, over: socket, time: LinkTime(clock))
        (self.socket, self.shell) = (socket, shell)
        let events = socket.events
        // SAFETY: owned by this object and cancelled with it.
        task = Task { await shell.follow(events) }
    }

    deinit {
        task.cancel()
        // The task may hold the shell for a moment longer.
        shell.finish(nil)
    }

    // MARK: - Commands

    /// Gives a command to the rules at once, with or without a connection; does not wait.
    @inlinable public func perform(_ command: Rules.Command) { shell.command(command) }

    /// Gives a request to the rules, and waits for its last event.
    ///
    /// The rules limit the time, so give them a deadline. This method waits first while 512 messages or more wait for the connection to
    /// take them.
    ///
    /// - Parameters:
    ///   - command: Returns the command with the id of the request, which the rules repeat in the events of this request.
    ///   - cancel: Returns the command for the rules if the task is cancelled; nil: the rules get none, and the request continues
    ///     without a recipient.
    /// - Throws: `cancelled`, or the error of the socket if it ended first; `closed` if this side ended it, or the peer with 1000.
    @inlinable public func request(
        _ command: (RequestID) -> Rules.Command, cancel: (@Sendable (RequestID) -> Rules.Command)? = nil
    ) async throws(WebSocketError) -> Rules.Event {
        _ = await shell.waitForRoom()
        let id = nextRequest()
        let command = command(id)
        return try await Reply.wait { [shell] (id: RequestID) in
            shell.cancel(id, with: cancel?(id))
        } _: { reply in
            shell.begin(.reply(reply), id, command) ? id : nil
        }.0
    }

    /// Gives a request to the rules, and returns its events until the last one.
    ///
    /// - Parameters:
    ///   - delivery: As in ``events(delivery:)``.
    ///   - command: Returns the command with the id of the request, which the rules repeat in the events of this request.
    ///   - cancel: Returns the command for the rules when the consumer wants no more events.
    /// - Returns: A sequence for one consumer, which keeps this client alive.
    public func stream(
        delivery: StreamDelivery<Rules.Event> = .everyMessage(), _ command: (RequestID) -> Rules.Command,
        cancel: @escaping @Sendable (RequestID) -> Rules.Command
    ) -> ProtocolEvents<Rules.Event> {
        events(StreamMailbox(delivery, time: shell.time), sharing: nil, command, cancel: cancel)
    }

    /// Gives a request to the rules, and returns its events as values of another type; otherwise as ``stream(delivery:_:cancel:)``.
    ///
    /// - Parameters:
    ///   - delivery: What happens to values that arrive while the consumer is busy.
    ///   - key: Consumers with the same key share one request; a later consumer gets the events from then on. Nil: not shared.
    ///   - convert: Converts an event when it arrives, or returns nil to leave it out. Must be quick, and must not call this client.
    ///   - isNote: Returns whether a value tells that others are missing, so that no delivery drops it.
    package func stream<Value>(
        delivery: StreamDelivery<Value>, sharing key: String?, as convert: @escaping @Sendable (Rules.Event) -> Value?,
        isNote: @escaping @Sendable (Value) -> Bool, _ command: (RequestID) -> Rules.Command,
        cancel: @escaping @Sendable (RequestID) -> Rules.Command
    ) -> ProtocolEvents<Value> {
        let mailbox = StreamMailbox<Rules.Event, Value>(delivery, time: shell.time, convert: convert, isNote: isNote)
        return events(mailbox, sharing: key, command, cancel: cancel)
    }

    /// The same, in batches of at most `limit` values that wait at most `window` for others.
    package func batches<Value>(
        delivery: StreamDelivery<Value>, upTo limit: Int, within window: Duration, sharing key: String?,
        as convert: @escaping @Sendable (Rules.Event) -> Value?, isNote: @escaping @Sendable (Value) -> Bool,
        _ command: (RequestID) -> Rules.Command, cancel: @escaping @Sendable (RequestID) -> Rules.Command
    ) -> ProtocolEvents<[Value]> {
        let mailbox = StreamMailbox<Rules.Event, [Value]>(
            delivery, upTo: limit, within: window, time: shell.time, convert: convert, isNote: isNote)
        return events(mailbox, sharing: key, command, cancel: cancel)
    }

    private func events<Value>(
        _ mailbox: StreamMailbox<Rules.Event, Value>, sharing key: String?, _ command: (RequestID) -> Rules.Command,
        cancel: @escaping @Sendable (RequestID) -> Rules.Command
    ) -> ProtocolEvents<Value> {
        let id = shell.begin(mailbox, sharing: key, nextRequest(), command)
        return ProtocolEvents(mailbox, shell.context.relief, holding: self) { [shell] in shell.leave(mailbox, id, with: cancel) }
    }

    /// Returns the events that belong to no request, from now on; each call has its own sequence.
    ///
    /// - Parameter delivery: What happens to events that arrive while the consumer is busy; a closure in it must not call this client. With
    ///   `everyMessage(capacity:)` the client stops reading while the buffer is full, for other consumers, too. But up to 4,096 events may
    ///   wait while a ``request(_:cancel:)`` is pending. `latest(byField:)` is for messages, and acts as `everyMessage()` here.
    /// - Returns: A sequence for one consumer, which keeps this client alive.
    public func events(delivery: StreamDelivery<Rules.Event> = .everyMessage()) -> ProtocolEvents<Rules.Event> {
        let mailbox = StreamMailbox<Rules.Event, Rules.Event>(delivery, time: shell.time)
        shell.follow(mailbox)
        return ProtocolEvents(mailbox, shell.context.relief, holding: self) { [shell] in shell.unfollow(mailbox) }
    }

    @inlinable func nextRequest() -> RequestID {
        RequestID(
            lastRequest.withLockedValue { last in
                last += 1
                return last
            })
    }

    // MARK: - State

    /// Reads the present rules under the lock; do not call this client from `body`.
    @inlinable public func read<Value>(_ body: (Rules) -> Value) -> Value { shell.access { _, rules in body(rules) } }

    /// The state of the protocol.
    public var state: ProtocolState { shell.access { view in view.state } }

    /// Changes with the state.
    package var stateVersion: UInt64 { shell.access { view in view.version } }

    /// The states of the protocol, starting with the present one; ends with ``ProtocolState/closed(_:)``.
    public var states: StateSequence<ProtocolState> {
        StateSequence(shell.context.changes) { [self] in
            let (version, state) = shell.access { view in (view.version, view.state) }
            return if case .closed = state { (state, version, true) } else { (state, version, false) }
        }
    }

    /// Waits until the protocol is ready on a connection.
    ///
    /// - Parameter patience: The time limit; nil: no limit.
    /// - Throws: `timedOut` with the last failure as its `underlying`, the error of the socket if it ended, or `cancelled`.
    public func ready(within patience: Duration? = nil) async throws(WebSocketError) {
        let limit = patience.map { shell.time.now() + $0 }
        let isReady = try await shell.context.changes.first(until: limit, on: shell.time) { () throws(WebSocketError) -> Bool? in
            switch state {
            case .ready: return true
            case .closed(let error): throw error ?? .over
            case .connecting, .waiting: return nil
            }
        }
        if isReady == true { return }
        if Task.isCancelled { throw .abandoned }
        var error = TransportError(.timedOut, "the protocol was not ready in time")
        error.underlying = shell.access { view in view.cause }
        throw WebSocketError(error)
    }

    /// The reason why this side last ended a connection; nil if it never did.
    public var complaint: String? { shell.complaint }

    /// How the socket ended; nil while it is open.
    public var closure: Closure? { shell.closure }

    /// Closes the socket for good; returns when that is done.
    ///
    /// Waiting callers get the error `closed`.
    public func close() async {
        await socket.close()
        shell.finish(nil)
    }

    /// Runs in the calling task until the socket is closed for good, and closes it with 1001 when the task is cancelled.
    ///
    /// `WebSocket.run()` says more.
    ///
    /// - Throws: The error that ended the socket. It throws nothing if this side closed it, or the peer did with 1000.
    public func run() async throws(WebSocketError) {
        defer { shell.finish(nil) }
        try await socket.run()
    }
}

/// The state of a protocol on its connections.
public enum ProtocolState: Sendable {
    /// There is a connection that is not ready, or none: before the first one, or because the app has disconnected.
    case connecting
    /// The protocol is ready on the connection.
    case ready
    /// The connection was lost for this reason, and the socket tries to reconnect.
    case waiting(WebSocketError)
    /// Closed for good; the error is nil if this side closed, or the peer did with 1000.
    case closed(WebSocketError?)
}

/// The events of a ``ProtocolClient`` for one consumer; see ``ProtocolClient/stream(delivery:_:cancel:)``.
///
/// The sequence ends normally after the last event of its request, if this side closes, and if the peer closes with 1000. Otherwise it
/// throws the error of the socket. Once the sequence and its iterator are released, the rules get the `cancel` command.
public struct ProtocolEvents<Event: Sendable>: AsyncSequence, Sendable {
    /// An event of the rules.
    public typealias Element = Event
    /// The error after which the sequence ends.
    public typealias Failure = WebSocketError
    private let subscription: EventSubscription<Event>

    init<Pushed>(
        _ mailbox: StreamMailbox<Pushed, Event>, _ relief: Changes, holding client: any AnyObject & Sendable,
        leave: @escaping @Sendable () -> Void
    ) {
        subscription = EventSubscription(mailbox, relief, client, leave)
    }

    /// Starts to take events; all iterators share the same events.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }

    /// Iterates over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error after which the sequence ends.
        public typealias Failure = WebSocketError
        fileprivate let subscription: EventSubscription<Event>

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> Event? { try await next(isolation: nil) }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Event? {
            try await subscription.mailbox.next(isolation: actor) { subscription.relief.announce() }
        }
    }
}

/// A mailbox as its consumer sees it.
private protocol EventSource<Output>: AnyObject, Sendable {
    associatedtype Output
    func next(isolation actor: isolated (any Actor)?, relieved: () -> Void) async throws(WebSocketError) -> Output?
}

extension Mailbox: EventSource where Failure == WebSocketError {}

/// Unsubscribes from its client when the sequence and its iterators are released.
private final class EventSubscription<Event: Sendable>: Sendable {
    let mailbox: any EventSource<Event>
    let relief: Changes
    private let client: any AnyObject & Sendable
    private let leave: @Sendable () -> Void

    init(
        _ mailbox: any EventSource<Event>, _ relief: Changes, _ client: any AnyObject & Sendable,
        _ leave: @escaping @Sendable () -> Void
    ) {
        (self.mailbox, self.relief, self.client, self.leave) = (mailbox, relief, client, leave)
    }

    deinit {
        leave()
        // Reading may have been paused for this consumer.
        relief.announce()
    }
}

/// A coding for `Codable` messages, in JSON or with another codec.
///
/// ```swift
/// ProtocolClient(rules, over: socket) { _ in CodableCoding<BoardReply, BoardRequest>() }
/// ```
public struct CodableCoding<Received: Decodable & Sendable, Sent: Encodable & Sendable>: ProtocolCoding {
    private let codec: any MessageCodec
    private let ignoresUnknown: Bool

    /// Creates a coding.
    ///
    /// - Parameters:
    ///   - codec: Encodes and decodes the messages; by default JSON in text messages.
    ///   - ignoresUnknown: Whether messages that cannot be decoded are ignored, for servers that may later send more than this version
    ///     knows. If false, the rules get `undecodable`.
    public init(_ codec: any MessageCodec = JSONCodec(), ignoresUnknown: Bool = false) {
        (self.codec, self.ignoresUnknown) = (codec, ignoresUnknown)
    }

    /// Decodes a message of the peer with the codec.
    public func decode(_ message: Message) throws -> Received? {
        do { return try codec.decode(Received.self, from: message) } catch {
            if ignoresUnknown { return nil }
            throw error
        }
    }
    /// Encodes a message with the codec.
    public func encode(_ message: Sent) throws -> Message { try codec.encode(message) }
}
