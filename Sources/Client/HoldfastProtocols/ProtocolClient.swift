public import Holdfast
import MachineCore
public import ProtocolCore
import WebSocketCore
import WebSocketRuntime

/// Runs a protocol of your own over a `WebSocket`: you write its rules, and get all the rest from here.
///
/// <doc:YourOwnProtocol> builds one step by step.
/// ```swift
/// let client = ProtocolClient(BoardRules(name: name, seed: seed), over: socket) { _ in CodableCoding<BoardReply, BoardRequest>() }
/// ```
/// Messages to the peer leave in order, and wait while the connection takes nothing; a peer that asks for more than it takes is read no further.
/// Whoever waits for an answer gets one: the last event of the request, or an error.
///
/// It ends with ``close()``, with the socket, when the rules say `stop`, or when the last reference to it is gone.
public final class ProtocolClient<Rules: ProtocolMachine>: Sendable where Rules.Event: ProtocolEvent {
    /// The connection's life: its state, its statistics.
    public let socket: WebSocket
    let shell: ClientShell<Rules>
    private let run: Task<Void, Never>
    private let lastRequest = LockedValue<UInt64>(0)

    /// Speaks over a socket.
    ///
    /// Nobody else should send over it. It is closed when the rules say so, by ``close()``, and when nobody holds it any more.
    ///
    /// - Parameters:
    ///   - rules: The protocol's machine, as it is before the first connection.
    ///   - socket: The socket; it lives at least as long as this.
    ///   - clock: What the machine's deadlines are measured with.
    ///   - coding: Makes the coding of each connection, which knows by the subprotocol which version was agreed on. It may take its time, for a token
    ///     say; nothing is read before it returns. What it throws ends the connection, of which the rules then hear nothing.
    public init<Coding: ProtocolCoding, C: Clock>(
        _ rules: Rules, over socket: WebSocket, clock: C = ContinuousClock(),
        coding: @escaping @Sendable (Opening) async throws(ConnectionEnd) -> Coding
    )
    where Coding.Greeting == Rules.Greeting, Coding.Received == Rules.Received, Coding.Sent == Rules.Sent, C.Duration == Duration {
        let context = ClientContext<Rules> { opening throws(ConnectionEnd) in ClientCoding(try await coding(opening)) }
        let shell = ClientShell(rules, ClientView(), context, over: socket, time: LinkTime(clock))
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

    // MARK: - What the app wants

    /// Tells the rules what the app wants, with a connection or without; they hear of it at once, and nothing waits.
    public func perform(_ command: Rules.Command) { shell.command(command) }

    /// Tells the rules of a request, and waits for its last event.
    ///
    /// How long it may take is up to the rules: give them a deadline. A sender is held up while 512 messages or more wait for the connection to
    /// take them.
    ///
    /// - Parameters:
    ///   - command: Makes the command, with the id that the rules give back in the events of this request.
    ///   - cancel: Makes what the rules hear if the task is cancelled; nil: they hear nothing, and the request goes on without anybody who waits.
    /// - Throws: `cancelled`, and how the socket ended if it did first; `closed` if this side ended it, or the peer with 1000.
    public func request(
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

    /// Tells the rules of a request, and gives its events until the last one.
    ///
    /// - Parameters:
    ///   - delivery: As in ``events(delivery:)``.
    ///   - command: Makes the command, with the id that the rules give back in the events of this request.
    ///   - cancel: Makes what the rules hear when nobody wants the events any more.
    /// - Returns: A sequence for one consumer, which holds this client.
    public func stream(
        delivery: StreamDelivery<Rules.Event> = .everyMessage(), _ command: (RequestID) -> Rules.Command,
        cancel: @escaping @Sendable (RequestID) -> Rules.Command
    ) -> ProtocolEvents<Rules.Event> {
        let id = nextRequest()
        let mailbox = StreamMailbox(delivery, time: shell.time)
        _ = shell.begin(.stream(mailbox), id, command(id))
        return ProtocolEvents(mailbox, shell.context.relief, holding: self) { [shell] in shell.cancel(id, with: cancel(id)) }
    }

    /// The events that are about no request, from now on; each call has its own.
    ///
    /// - Parameter delivery: What becomes of events that come while the consumer is busy; a closure in it must not call this client. With
    ///   `everyMessage(capacity:)` nothing is read while so many wait, for the other consumers neither; but up to 4,096 may wait while a
    ///   ``request(_:cancel:)`` does. `latest(byField:)` is for messages, and is `everyMessage()` here.
    /// - Returns: A sequence for one consumer, which holds this client.
    public func events(delivery: StreamDelivery<Rules.Event> = .everyMessage()) -> ProtocolEvents<Rules.Event> {
        let mailbox = StreamMailbox(delivery, time: shell.time)
        shell.follow(mailbox)
        return ProtocolEvents(mailbox, shell.context.relief, holding: self) { [shell] in shell.unfollow(mailbox) }
    }

    private func nextRequest() -> RequestID {
        RequestID(
            lastRequest.withLockedValue { last in
                last += 1
                return last
            })
    }

    // MARK: - What is known

    /// Reads the rules as they are now, under the lock: do not call this client from there.
    public func read<Value>(_ body: (Rules) -> Value) -> Value { shell.access { _, rules in body(rules) } }

    /// How the protocol stands.
    public var state: ProtocolState { shell.access { view in view.state } }

    /// How the protocol stands, the present state first; ends with ``ProtocolState/closed(_:)``.
    public var states: StateSequence<ProtocolState> {
        StateSequence(shell.context.changes) { [self] in
            let (version, state) = shell.access { view in (view.version, view.state) }
            return if case .closed = state { (state, version, true) } else { (state, version, false) }
        }
    }

    /// Waits until the protocol is ready on a connection.
    ///
    /// - Parameter patience: How long; nil: as long as it takes.
    /// - Throws: `timedOut` with the last failure as its `underlying`, how the socket ended, or `cancelled`.
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

    /// What was wrong with the peer when this side last ended a connection; nil if it never did.
    public var complaint: String? { shell.complaint }

    /// How the socket ended; nil while it lives.
    public var closure: Closure? { shell.closure }

    /// Closes the socket for good; returns when that is done.
    ///
    /// Whoever waits hears that it is closed.
    public func close() async {
        await socket.close()
        shell.finish(nil)
    }
}

/// How a protocol stands on its connections.
public enum ProtocolState: Sendable {
    /// There is a connection that is not ready, or none: so far, or because the app has disconnected.
    case connecting
    /// The peer has welcomed us.
    case ready
    /// The connection is lost, for this reason, and another is tried.
    case waiting(WebSocketError)
    /// All is over: for this reason; nil if this side closed, or the peer did with 1000.
    case closed(WebSocketError?)
}
