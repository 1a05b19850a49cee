public import Holdfast
import MachineCore
public import ProtocolCore
public import StreamCore
public import WebSocketCore
public import WebSocketRuntime

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
    @inlinable public func stream(
        delivery: StreamDelivery<Rules.Event> = .everyMessage(), _ command: (RequestID) -> Rules.Command,
        cancel: @escaping @Sendable (RequestID) -> Rules.Command
    ) -> ProtocolEvents<Rules.Event> {
        guard let capacity = delivery.ownCapacity else {
            return events(StreamMailbox(delivery, time: shell.time), sharing: nil, command, cancel: cancel)
        }
        let keeping = keepsAll(capacity)
        let leave = begin(.every(keeping.mailbox), sharing: nil, command, cancel: cancel)
        return ProtocolEvents(keeping.mailbox, keeping.take, relief, holding: self, leave)
    }

    /// Gives a request to the rules, and returns its events as values of another type; otherwise as ``stream(delivery:_:cancel:)``.
    ///
    /// - Parameters:
    ///   - delivery: What happens to values that arrive while the consumer is busy.
    ///   - key: Consumers with the same key share one request; a later consumer gets the events from then on. Nil: not shared.
    ///   - keepsAll: Returns ``keepsAll(_:)``, for a delivery that keeps all events; its values are converted when they are taken, in the
    ///     task of the consumer. Nil: each event is converted when it arrives.
    ///   - convert: Converts an event; must be quick, and must not call this client.
    ///   - isNote: Returns whether a value tells that others are missing, so that no delivery drops it.
    package func stream<Value>(
        delivery: StreamDelivery<Value>, sharing key: String?, keepsAll: ((_ capacity: Int) -> EveryConsumer<Rules.Event>)?,
        as convert: @escaping EventConversion<Rules.Event, Value>, isNote: @escaping @Sendable (Value) -> Bool,
        _ command: (RequestID) -> Rules.Command, cancel: @escaping @Sendable (RequestID) -> Rules.Command
    ) -> ProtocolEvents<Value> {
        guard let keepsAll, let capacity = delivery.ownCapacity else {
            let mailbox = StreamMailbox<Rules.Event, Value>(
                delivery, time: shell.time, convert: { Self.converted($0, convert) }, isNote: isNote)
            return events(mailbox, sharing: key, command, cancel: cancel)
        }
        let keeping = keepsAll(capacity)
        let leave = begin(.every(keeping.mailbox), sharing: key, command, cancel: cancel)
        return ProtocolEvents(keeping, as: convert, relief, holding: self, leave)
    }

    /// Creates the mailbox of a consumer that gets all events.
    ///
    /// Call it where the rules are known, so that it is specialized for them. A generic method does not know them.
    @inlinable package func keepsAll(_ capacity: Int) -> EveryConsumer<Rules.Event> {
        EveryConsumer(capacity: capacity, time: shell.time, relief)
    }

    /// The same, in batches of at most `limit` values that wait at most `window` for others.
    package func batches<Value>(
        delivery: StreamDelivery<Value>, upTo limit: Int, within window: Duration, sharing key: String?,
        as convert: @escaping EventConversion<Rules.Event, Value>, isNote: @escaping @Sendable (Value) -> Bool,
        _ command: (RequestID) -> Rules.Command, cancel: @escaping @Sendable (RequestID) -> Rules.Command
    ) -> ProtocolEvents<[Value]> {
        let mailbox = StreamMailbox<Rules.Event, [Value]>(
            delivery, upTo: limit, within: window, time: shell.time, convert: { Self.converted($0, convert) }, isNote: isNote)
        return events(mailbox, sharing: key, command, cancel: cancel)
    }

    private static func converted<Value>(_ event: Rules.Event, _ convert: EventConversion<Rules.Event, Value>) -> Value? {
        var value: Value?
        return convert(event, &value) ? value : nil
    }

    @usableFromInline func events<Value>(
        _ mailbox: StreamMailbox<Rules.Event, Value>, sharing key: String?, _ command: (RequestID) -> Rules.Command,
        cancel: @escaping @Sendable (RequestID) -> Rules.Command
    ) -> ProtocolEvents<Value> {
        let leave = begin(.other(mailbox), sharing: key, command, cancel: cancel)
        return ProtocolEvents(mailbox, mailbox.taking(relief), relief, holding: self, leave)
    }

    /// Begins a request; returns what ends it for this consumer.
    @usableFromInline func begin(
        _ inbox: ClientView<Rules>.Inbox, sharing key: String?, _ command: (RequestID) -> Rules.Command,
        cancel: @escaping @Sendable (RequestID) -> Rules.Command
    ) -> @Sendable () -> Void {
        let id = shell.begin(inbox, sharing: key, nextRequest(), command)
        return { [shell] in shell.leave(inbox, id, with: cancel) }
    }

    /// Returns the events that belong to no request, from now on; each call has its own sequence.
    ///
    /// - Parameter delivery: What happens to events that arrive while the consumer is busy; a closure in it must not call this client. With
    ///   `everyMessage(capacity:)` the client stops reading while the buffer is full, for other consumers, too. But up to 4,096 events may
    ///   wait while a ``request(_:cancel:)`` is pending. `latest(byField:)` is for messages, and acts as `everyMessage()` here.
    /// - Returns: A sequence for one consumer, which keeps this client alive.
    @inlinable public func events(delivery: StreamDelivery<Rules.Event> = .everyMessage()) -> ProtocolEvents<Rules.Event> {
        guard let capacity = delivery.ownCapacity else {
            let mailbox = StreamMailbox<Rules.Event, Rules.Event>(delivery, time: shell.time)
            return ProtocolEvents(mailbox, mailbox.taking(relief), relief, holding: self, follow(.other(mailbox)))
        }
        let keeping = keepsAll(capacity)
        return ProtocolEvents(keeping.mailbox, keeping.take, relief, holding: self, follow(.every(keeping.mailbox)))
    }

    /// Lets a consumer follow the events that belong to no request; returns what ends that.
    @usableFromInline func follow(_ inbox: ClientView<Rules>.Inbox) -> @Sendable () -> Void {
        shell.follow(inbox)
        return { [shell] in shell.unfollow(inbox) }
    }

    /// Announced when a full consumer has taken something.
    @inlinable var relief: Changes { shell.context.relief }

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
    @usableFromInline let subscription: EventSubscription<Event>

    /// The events that a mailbox delivers.
    @inlinable init(
        _ mailbox: any EventSource, _ take: @escaping EventTaking<Event>, _ relief: Changes, holding client: any AnyObject & Sendable,
        _ leave: @escaping @Sendable () -> Void
    ) {
        subscription = EventSubscription(mailbox, relief, client, leave) { event in
            take { taken in
                event = taken
                return true
            }
        }
    }

    /// All events of a mailbox, converted when they are taken.
    init<Pushed>(
        _ keeping: EveryConsumer<Pushed>, as convert: @escaping EventConversion<Pushed, Event>, _ relief: Changes,
        holding client: any AnyObject & Sendable, _ leave: @escaping @Sendable () -> Void
    ) {
        subscription = EventSubscription(keeping.mailbox, relief, client, leave) { [take = keeping.take] event in
            take { taken in convert(taken, &event) }
        }
    }

    /// Starts to take events; all iterators share the same events.
    @inlinable public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription) }

    /// Iterates over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error after which the sequence ends.
        public typealias Failure = WebSocketError
        @usableFromInline let subscription: EventSubscription<Event>

        @inlinable init(_ subscription: EventSubscription<Event>) { self.subscription = subscription }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        @inlinable public mutating func next() async throws(WebSocketError) -> Event? { try await next(isolation: nil) }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        @inlinable public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Event? {
            // Checked at each call: a slow consumer of a fast peer never waits.
            while !Task.isCancelled {
                var event: Event?
                switch subscription.take(&event) {
                case .given: return event
                case .over(let error):
                    if let error { throw error }
                    return nil
                case .wait: if await !subscription.mailbox.called(isolation: actor) { return nil }
                }
            }
            return nil
        }
    }
}

/// A mailbox of whatever type, for a consumer that waits for it.
@usableFromInline package protocol EventSource: AnyObject, Sendable {
    /// Waits until there is a reason to look again; returns false if the task is cancelled.
    func called(isolation actor: isolated (any Actor)?) async -> Bool
}

extension Mailbox: EventSource {}

/// The result of looking into a mailbox.
@usableFromInline package enum EventStep: Sendable {
    case given
    case wait
    case over(WebSocketError?)
}

/// Takes events out of a mailbox until one is accepted.
@usableFromInline package typealias EventTaking<Event> = @Sendable (_ accept: (Event) -> Bool) -> EventStep

/// Converts an event for the app: sets the value and returns true, or returns false to leave the event out.
///
/// It writes into the variable of the consumer. So generic code in between passes the value on without looking up its type.
@usableFromInline package typealias EventConversion<Event, Value> = @Sendable (_ event: Event, _ value: inout Value?) -> Bool

extension Mailbox where Failure == WebSocketError {
    /// Returns the function that takes from this mailbox.
    @inlinable func taking(_ relief: Changes) -> EventTaking<Output> {
        { accept in
            while true {
                switch self.take(relieved: { relief.announce() }) {
                case .give(let output): if accept(output) { return .given }
                case .end(.success): return .over(nil)
                case .end(.failure(let error)): return .over(error)
                case .wait: return .wait
                }
            }
        }
    }
}

/// A mailbox that keeps all events, and the function that takes from it.
///
/// Both are specialized for the events, as long as they are made where the type of the events is known.
@usableFromInline package struct EveryConsumer<Event: Sendable>: Sendable {
    @usableFromInline let mailbox: EveryMailbox<Event>
    @usableFromInline let take: EventTaking<Event>

    @inlinable init(capacity: Int, time: LinkTime, _ relief: Changes) {
        mailbox = EveryMailbox(EveryValue(capacity: capacity), time: time)
        take = mailbox.taking(relief)
    }
}

/// Unsubscribes from its client when the sequence and its iterators are released.
@usableFromInline package final class EventSubscription<Event: Sendable>: Sendable {
    @usableFromInline let mailbox: any EventSource
    @usableFromInline let relief: Changes
    @usableFromInline let client: any AnyObject & Sendable
    @usableFromInline let leave: @Sendable () -> Void
    /// Takes the next event out of the mailbox.
    @usableFromInline let take: @Sendable (inout Event?) -> EventStep

    @inlinable init(
        _ mailbox: any EventSource, _ relief: Changes, _ client: any AnyObject & Sendable, _ leave: @escaping @Sendable () -> Void,
        take: @escaping @Sendable (inout Event?) -> EventStep
    ) {
        (self.mailbox, self.relief, self.client, self.leave, self.take) = (mailbox, relief, client, leave, take)
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
