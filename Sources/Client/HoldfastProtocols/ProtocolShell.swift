public import Holdfast
public import MachineCore
public import ProtocolCore
public import WebSocketCore
public import WebSocketRuntime

/// Runs the machine of a protocol over a `WebSocket`; all protocols use it.
///
/// A lock protects the machine and the app's view of it, because any thread may read them. No callback runs while the lock is held. The
/// code on the path of every message is inlinable, as in ``OutgoingQueue``.
@usableFromInline package final class ProtocolShell<View: ProtocolView>: Sendable {
    @usableFromInline package typealias Rules = View.Rules
    @usableFromInline package typealias Queue = OutgoingQueue<Rules.Sent>
    @usableFromInline struct State: Sendable {
        @usableFromInline var machine: Rules
        @usableFromInline var view: View
        @usableFromInline var effects: [Rules.Effect] = []
        @usableFromInline var queue: Queue?
        @usableFromInline var coding: View.Coding?
        /// Whether an item was added to the queue.
        @usableFromInline var hasOutput = false
        @usableFromInline var actions: [View.Action] = []
        /// An end of the socket while there is no connection that could perform it.
        @usableFromInline var end: ConnectionEnd?
        /// Whether the rules want the socket to connect again.
        @usableFromInline var connects = false
        /// Whether the connection has become ready, which the socket must be told.
        @usableFromInline var hasBecomeReady = false
        /// Whether the rules have ended the present connection; its later messages are ignored.
        @usableFromInline var isEnding = false
        @usableFromInline var complaint: String?
        /// The time until which the rules want no connection; nil before they have asked for a pause.
        @usableFromInline var away: Moment?
        @usableFromInline var closure: Closure?
        @usableFromInline var isOver = false

        @usableFromInline init(_ machine: Rules, _ view: View) { (self.machine, self.view) = (machine, view) }
    }

    /// What the socket must do after the lock is released.
    @usableFromInline typealias Orders = (end: ConnectionEnd?, connects: Bool)

    @usableFromInline package let time: LinkTime
    @usableFromInline package let context: View.Context
    @usableFromInline let timer: DeadlineTimer
    @usableFromInline let socket: SocketReference
    @usableFromInline let state: LockedValue<State>

    /// - Parameter socket: The socket; it belongs to the app, and may end before the shell does.
    @usableFromInline package init(_ machine: Rules, _ view: View, _ context: View.Context, over socket: WebSocket, time: LinkTime) {
        (self.time, self.context, timer, self.socket) = (time, context, DeadlineTimer(time), SocketReference(socket))
        state = LockedValue(State(machine, view))
    }

    // MARK: - The connection

    /// The number of messages after which consumers are woken even if more messages are ready.
    @inlinable static var messagesAtOnce: Int { 64 }

    /// Handles the events of the socket until it ends.
    @inlinable package func follow(_ events: WebSocketEvents) async {
        // SAFETY: only this task uses it, and never in two functions at once. It is not `Sendable`, so that an app cannot share one.
        nonisolated(unsafe) var events = events.makeAsyncIterator()
        var next = await events.next()
        while let event = next {
            if case .opened(let opening) = event, let (queue, coding) = await open(opening) {
                next = await read(&events, coding, queue, on: opening.connection.eventLoop)
            } else {
                handle(event)
                next = await events.next()
            }
        }
        finish(nil)
    }

    /// Handles the messages of a connection; returns the first event that says that it is lost, or that there is a new one.
    ///
    /// - Parameter actor: The event loop of the connection. There no message changes threads, and an answer is sent in the same turn.
    @inlinable func read(
        _ events: inout WebSocketEvents.AsyncIterator, _ coding: View.Coding, _ queue: Queue, on actor: isolated (any Actor)?
    ) async -> WebSocketEvent? {
        var unsettled = 0
        while let event = await events.next(isolation: actor, idle: { settle() }) {
            switch event {
            case .message(let message): receive(message, coding, queue)
            case .state(.connected), .dropped, .undecodable, .missed: continue
            case .opened, .state, .reconnecting, .closed:
                settle()
                return event
            }
            unsettled += 1
            if unsettled == Self.messagesAtOnce {
                settle()
                unsettled = 0
            }
            // Stops reading from a peer that requests more than it accepts.
            let isCrowded = queue.count >= OutgoingLimits.reader
            guard isCrowded || !View.mayReadOn(in: self) else { continue }
            notify(.paused)
            if isCrowded { await queue.room(below: OutgoingLimits.reader) }
            if !View.mayReadOn(in: self) { await View.pace(in: self) }
            notify(.resumed)
        }
        return nil
    }

    /// Handles an event that is no message of a connection in use.
    @usableFromInline func handle(_ event: WebSocketEvent) {
        switch event {
        case .state(.connected): break
        case .state(.waiting(_, let cause)), .state(.disconnected(let cause)): lose(because: cause)
        case .state: lose(because: nil)
        case .reconnecting(_, _, let cause): lose(because: cause, isRetrying: true)
        case .closed(let closure): finish(closure)
        case .opened, .message, .dropped, .undecodable, .missed: break
        }
    }

    @inlinable func open(_ opening: Opening) async -> (Queue, View.Coding)? {
        let coding: View.Coding
        do throws(ConnectionEnd) {
            try checkPause()
            coding = try await View.coding(for: opening, in: self)
        } catch {
            state.withLockedValue { $0.complaint = error.complaint ?? $0.complaint }
            end(error, opening.connection)
            return nil
        }
        let queue = Queue(opening.connection, encode: coding.encode) { [weak self] in self?.end($0, $1) }
        let isUsed = change { state, now in
            // The client may have ended meanwhile. Then the owner of the socket decides about the connection.
            guard !state.isOver else { return false }
            lose(&state, now, because: nil)
            state.view.open(coding, in: self, &state.actions)
            (state.queue, state.coding, state.isEnding) = (queue, coding, false)
            state.machine.handle(.opened(coding.greeting), at: now, into: &state.effects)
            return true
        }
        return isUsed ? (queue, coding) : nil
    }

    /// Ends a connection that opens before the pause of the rules is over.
    ///
    /// If the peer ended the connection before the rules asked for the pause, the socket does not know of the pause.
    @usableFromInline func checkPause() throws(ConnectionEnd) {
        guard let away = state.withLockedValue({ $0.away }), away > time.now() else { return }
        throw .reconnect(after: away - time.now(), .goingAway, reason: "the pause is not over")
    }

    @inlinable func lose(because cause: WebSocketError?, isRetrying: Bool = false) {
        change { state, now in if !state.isOver { lose(&state, now, because: cause, isRetrying: isRetrying) } }
    }

    /// Handles the loss of the connection, or its replacement.
    @inlinable func lose(_ state: inout State, _ now: Moment, because cause: WebSocketError?, isRetrying: Bool = false) {
        let closed = state.queue.take()?.close()
        state.view.lose(because: cause, isRetrying: isRetrying, in: self, &state.actions)
        guard let (unsent, end) = closed else { return }
        if let end { state.end = end }
        // The peer repeats the code of a close that this side began.
        let close = cause?.closeRecord.flatMap { $0.closedFirst == .remote ? $0.received : nil }
        state.machine.handle(.lost(unsent: unsent, close: close), at: now, into: &state.effects)
        carryOut(&state)
    }

    @inlinable func receive(_ message: Message, _ coding: View.Coding, _ queue: Queue) {
        let input: Rules.Input
        do {
            guard let received = try coding.decode(message) else { return }
            input = .received(received)
        } catch {
            input = .undecodable("\(error)")
        }
        change(settles: false) { state, now in
            if state.queue === queue, !state.isEnding { state.machine.handle(input, at: now, into: &state.effects) }
        }
    }

    /// Performs what the view has put off while messages were ready.
    @inlinable func settle() {
        let actions = state.withLockedValue { state in
            var actions: [View.Action] = []
            state.view.settle(&actions)
            return actions
        }
        for action in actions { View.perform(action, in: self) }
    }

    /// Gives an input to the machine if there is a connection.
    @inlinable func notify(_ input: Rules.Input) {
        change { state, now in
            if state.queue != nil, !state.isEnding { state.machine.handle(input, at: now, into: &state.effects) }
        }
    }

    /// Ends the shell, and tells all recipients.
    @inlinable package func finish(_ closure: Closure?) {
        change { state, now in
            state.closure = state.closure ?? closure
            guard !state.isOver else { return }
            lose(&state, now, because: closure?.error)
            state.isOver = true
            state.view.end(closure, in: self, &state.actions)
        }
        timer.cancel()
    }

    // MARK: - Changes

    /// Changes the state, then performs the effects of the machine.
    ///
    /// - Parameter settles: Whether nothing is put off. If not, the caller must call ``settle()`` later.
    @inlinable func change<Value>(settles: Bool = true, _ body: (inout State, Moment) -> Value) -> Value {
        let (value, queue, ready, actions, orders) = state.withLockedValue { state -> (Value, Queue?, Queue?, [View.Action], Orders) in
            let value = body(&state, time.now())
            carryOut(&state)
            if settles { state.view.settle(&state.actions) }
            if !state.isOver, let deadline = state.machine.deadline, timer.ringsAfter(deadline) {
                timer.set(deadline) { [weak self] in self?.wake() }
            }
            defer {
                (state.hasOutput, state.hasBecomeReady, state.actions) = (false, false, [])
                (state.end, state.connects) = (nil, false)
            }
            let (queue, ready) = (state.hasOutput ? state.queue : nil, state.hasBecomeReady ? state.queue : nil)
            return (value, queue, ready, state.actions, (state.end, state.connects))
        }
        if let ready { socket.noteReady(ready.connection) }
        queue?.drain()
        for action in actions { View.perform(action, in: self) }
        if let end = orders.end { self.end(end, nil) }
        if orders.connects { socket.connect() }
        return value
    }

    @inlinable func carryOut(_ state: inout State) {
        for effect in state.effects { perform(effect, &state) }
        state.effects.removeAll(keepingCapacity: true)
    }

    @inlinable func perform(_ effect: Rules.Effect, _ state: inout State) {
        switch effect {
        case .send(let message):
            guard let queue = state.queue else { break }
            if state.coding?.isEphemeral(message) == true, queue.count >= OutgoingLimits.ephemeral { break }
            queue.put(.message(message))
            state.hasOutput = true
        case .ready:
            guard state.queue != nil, !state.isEnding else { break }
            state.hasBecomeReady = true
            state.view.becomeReady(in: self, &state.actions)
        case .end(let end):
            state.complaint = end.complaint ?? state.complaint
            state.view.drop(end, in: self)
            if case .reconnect(let pause, _, _) = end { state.away = max(state.away ?? .start, time.now() + pause) }
            if end == .disconnect { socket.wantsConnection = false }
            if let queue = state.queue { queue.put(.end(end)) } else if end.endsSocket { state.end = end }
            (state.isEnding, state.hasOutput) = (true, true)
        case .connect: (socket.wantsConnection, state.connects) = (true, true)
        case .event(let event): state.view.handle(event, in: self, &state.actions)
        }
    }

    @inlinable func wake() { change { state, now in if !state.isOver { state.machine.wake(at: now, into: &state.effects) } } }

    /// Ends a connection, or with ``ConnectionEnd/stop`` the socket; if the socket is already released, finishes the shell itself.
    @usableFromInline func end(_ end: ConnectionEnd, _ connection: WebSocketConnection?) {
        if socket.socket == nil { finish(nil) }
        socket.end(end, connection)
    }

    /// The states of the socket; nil if it is released.
    package var socketStates: StateSequence<WebSocketState>? { socket.socket?.states }

    /// Closes the socket for good.
    @usableFromInline package func stop() { end(.stop, nil) }

    // MARK: - The app

    /// Changes the view and gives the machine the command that `body` returns; after the end only the view changes.
    @inlinable package func command<Value>(_ body: (inout View, inout [View.Action]) -> (command: Rules.Command?, value: Value)) -> Value {
        change { state, now in
            let (command, value) = body(&state.view, &state.actions)
            if let command, !state.isOver { state.machine.handle(.command(command), at: now, into: &state.effects) }
            return value
        }
    }

    /// Gives the machine the result of something that it has asked for, even after the end.
    @inlinable package func report(_ body: (inout View, inout [View.Action]) -> Rules.Command?) {
        change { state, now in
            guard let command = body(&state.view, &state.actions) else { return }
            state.machine.handle(.command(command), at: now, into: &state.effects)
        }
    }

    /// Gives a command to the machine.
    @inlinable package func command(_ command: Rules.Command) { self.command { _, _ in (command, ()) } }

    /// Reads or changes the view without telling the machine.
    @inlinable package func access<Value>(_ body: (inout View) -> Value) -> Value { state.withLockedValue { body(&$0.view) } }
    @inlinable package func access<Value>(_ body: (inout View, Rules) -> Value) -> Value {
        state.withLockedValue { body(&$0.view, $0.machine) }
    }

    /// Waits while the connection accepts nothing, so that the number of waiting messages stays limited.
    ///
    /// - Parameter patience: The time limit; nil: no limit.
    /// - Returns: How long it waited; nil if there was room at once.
    @usableFromInline package func waitForRoom(within patience: Duration? = nil) async -> Duration? {
        guard let queue = outgoing, queue.count >= OutgoingLimits.senders else { return nil }
        let start = time.now()
        if let patience {
            await queue.room(below: OutgoingLimits.senders, until: start + patience, on: time)
        } else {
            await queue.room(below: OutgoingLimits.senders)
        }
        return time.now() - start
    }

    /// The outgoing queue of the present connection; nil without one.
    @inlinable package var outgoing: Queue? { state.withLockedValue({ $0.queue }) }
    /// Whether the shell has ended.
    @inlinable package var isOver: Bool { state.withLockedValue({ $0.isOver }) }
    /// How the socket ended; nil while it is open.
    @inlinable package var closure: Closure? { state.withLockedValue({ $0.closure }) }
    /// The reason why this side last ended a connection; nil if it never did.
    @inlinable package var complaint: String? { state.withLockedValue({ $0.complaint }) }
}

/// The app's view of a protocol, a value that the shell protects with a lock.
@usableFromInline package protocol ProtocolView: Sendable {
    /// The rules of the protocol.
    associatedtype Rules: ProtocolMachine
    /// The coding of its messages.
    associatedtype Coding: ProtocolCoding
    where Coding.Greeting == Rules.Greeting, Coding.Received == Rules.Received, Coding.Sent == Rules.Sent
    /// Constant values that are read without the lock: options, the log.
    associatedtype Context: Sendable
    /// An action for after the lock is released, such as waking a task or calling a callback of the app.
    associatedtype Action: Sendable

    /// Returns the coding of a new connection; called without the lock, and nothing of the connection is read before it returns.
    ///
    /// - Throws: How to end the connection without telling the rules, for example if the server agreed on no known subprotocol.
    static func coding(for opening: Opening, in shell: ProtocolShell<Self>) async throws(ConnectionEnd) -> Coding
    /// Returns whether another message can be read; asked after each message. If not, ``pace(in:)`` waits until one can.
    static func mayReadOn(in shell: ProtocolShell<Self>) -> Bool
    /// Waits until another message can be read.
    static func pace(in shell: ProtocolShell<Self>) async

    /// Handles a new connection.
    mutating func open(_ coding: Coding, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Handles that the protocol is ready on the connection.
    mutating func becomeReady(in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Handles that there is no connection; also called if there was none before.
    ///
    /// - Parameters:
    ///   - cause: The reason, if the socket has reported one.
    ///   - isRetrying: Whether the socket has planned its next attempt.
    mutating func lose(because cause: WebSocketError?, isRetrying: Bool, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Handles an event of the rules.
    mutating func handle(_ event: Rules.Event, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Appends the actions that were put off until all messages that arrived together are handled.
    mutating func settle(_ actions: inout [Action])
    /// Handles that the rules end the present connection, or the socket.
    mutating func drop(_ end: ConnectionEnd, in shell: ProtocolShell<Self>)
    /// Handles the end of the shell.
    ///
    /// - Parameter closure: How the socket ended; nil if it is still open, or its end is unknown.
    mutating func end(_ closure: Closure?, in shell: ProtocolShell<Self>, _ actions: inout [Action])
    /// Performs an action without the lock.
    static func perform(_ action: Action, in shell: ProtocolShell<Self>)
}

extension ProtocolView {
    @inlinable package static func mayReadOn(in shell: ProtocolShell<Self>) -> Bool { true }
    @inlinable package static func pace(in shell: ProtocolShell<Self>) async {}
    @inlinable package mutating func becomeReady(in shell: ProtocolShell<Self>, _ actions: inout [Action]) {}
    @inlinable package mutating func settle(_ actions: inout [Action]) {}
    @inlinable package mutating func drop(_ end: ConnectionEnd, in shell: ProtocolShell<Self>) {}
}
