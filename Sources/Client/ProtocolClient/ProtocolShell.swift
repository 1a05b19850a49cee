public import Holdfast
public import MachineCore
public import ProtocolCore
public import WebSocketCore
public import WebSocketRuntime

/// Runs the machine of a protocol over a `WebSocket`: the one shell of all protocols.
///
/// A lock guards the machine and what the app sees of it, for any thread may read that. Nobody is called with the lock held. All is inlinable, as in
/// ``OutgoingQueue``.
@usableFromInline package final class ProtocolShell<View: ProtocolView>: Sendable {
    @usableFromInline package typealias Rules = View.Rules
    @usableFromInline typealias Queue = OutgoingQueue<Rules.Sent>
    @usableFromInline struct State: Sendable {
        @usableFromInline var machine: Rules
        @usableFromInline var view: View
        @usableFromInline var effects: [Rules.Effect] = []
        @usableFromInline var queue: Queue?
        /// Something was put into the queue.
        @usableFromInline var hasOutput = false
        @usableFromInline var woken: [Changes] = []
        @usableFromInline var complaint: String?
        @usableFromInline var closure: Closure?
        @usableFromInline var isOver = false

        @usableFromInline init(_ machine: Rules, _ view: View) { (self.machine, self.view) = (machine, view) }
    }

    @usableFromInline package let time: LinkTime
    @usableFromInline let timer: DeadlineTimer
    @usableFromInline let socket: SocketReference
    @usableFromInline let state: LockedValue<State>

    /// - Parameter socket: Belongs to the app, and may end before the shell does.
    @usableFromInline package init(_ machine: Rules, _ view: View, over socket: WebSocket, time: LinkTime) {
        (self.time, timer, self.socket) = (time, DeadlineTimer(time), SocketReference(socket))
        state = LockedValue(State(machine, view))
    }

    // MARK: - The connection

    /// Takes what happens to the socket, until it ends.
    @inlinable package func follow(_ events: WebSocketEvents) async {
        var link: (queue: Queue, coding: View.Coding)?
        for await event in events {
            switch event {
            case .opened(let opening): link = open(opening)
            case .message(let message):
                guard let (queue, coding) = link else { continue }
                receive(message, coding, queue)
                if queue.count >= OutgoingLimits.reader { await queue.room(below: OutgoingLimits.reader) }
            case .state(.connected): break
            case .state, .reconnecting: change { lose(&$0, $1) }
            case .closed(let closure): finish(closure)
            case .dropped, .undecodable, .missed: break
            }
        }
        finish(nil)
    }

    @inlinable func open(_ opening: Opening) -> (Queue, View.Coding)? {
        guard let coding = View.Coding(subprotocol: opening.subprotocol) else {
            let end = ConnectionEnd.close(.protocolError, reason: "the server agreed on no subprotocol of ours")
            state.withLockedValue { $0.complaint = end.complaint }
            socket.end(end, opening.connection)
            return nil
        }
        let queue = Queue(opening.connection, encode: coding.encode) { [socket] in socket.end($0, $1) }
        change { state, now in
            lose(&state, now)
            state.queue = queue
            state.machine.handle(.opened, at: now, into: &state.effects)
        }
        return (queue, coding)
    }

    /// There is no connection any more, or another one.
    @inlinable func lose(_ state: inout State, _ now: Moment) {
        guard let queue = state.queue.take() else { return }
        _ = queue.close()
        state.machine.handle(.lost, at: now, into: &state.effects)
    }

    @inlinable func receive(_ message: Message, _ coding: View.Coding, _ queue: Queue) {
        let input: Rules.Input
        do {
            guard let received = try coding.decode(message) else { return }
            input = .received(received)
        } catch {
            input = .receivedGarbage
        }
        change { state, now in if state.queue === queue { state.machine.handle(input, at: now, into: &state.effects) } }
    }

    /// Tells everybody that nothing more comes.
    @inlinable package func finish(_ closure: Closure?) {
        change { state, now in
            lose(&state, now)
            state.isOver = true
            if let closure { state.closure = closure }
            state.view.end(waking: &state.woken)
        }
        timer.cancel()
    }

    // MARK: - Changes

    /// Changes the state, then does what the machine asks for.
    @inlinable func change<Value>(_ body: (inout State, Moment) -> Value) -> Value {
        let (value, queue, woken) = state.withLockedValue { state -> (Value, Queue?, [Changes]) in
            let value = body(&state, time.now())
            for effect in state.effects { perform(effect, &state) }
            state.effects.removeAll(keepingCapacity: true)
            if !state.isOver, let deadline = state.machine.deadline, timer.ringsAfter(deadline) {
                timer.set(deadline) { [weak self] in self?.wake() }
            }
            defer { (state.hasOutput, state.woken) = (false, []) }
            return (value, state.hasOutput ? state.queue : nil, state.woken)
        }
        queue?.drain()
        for changes in woken { changes.announce() }
        return value
    }

    @inlinable func perform(_ effect: Rules.Effect, _ state: inout State) {
        switch effect {
        case .send(let message):
            state.queue?.put(.message(message))
            state.hasOutput = true
        case .end(let end):
            state.complaint = end.complaint ?? state.complaint
            state.queue?.put(.end(end))
            state.hasOutput = true
        case .event(let event): state.view.hear(event, waking: &state.woken)
        }
    }

    @inlinable func wake() { change { state, now in if !state.isOver { state.machine.wake(at: now, into: &state.effects) } } }

    // MARK: - The app

    /// Tells the machine what the app wants, which `body` says.
    @inlinable package func command<Value>(_ body: (inout View) -> (command: Rules.Command, value: Value)) -> Value {
        change { state, now in
            let (command, value) = body(&state.view)
            state.machine.handle(.command(command), at: now, into: &state.effects)
            return value
        }
    }

    /// Changes or reads what the app sees, which tells the machine nothing.
    @inlinable package func access<Value>(_ body: (inout View, Rules) -> Value) -> Value {
        state.withLockedValue { body(&$0.view, $0.machine) }
    }

    /// Whether nothing more comes.
    @inlinable package var isOver: Bool { state.withLockedValue(\.isOver) }
    /// How the socket ended; nil while it lives.
    @inlinable package var closure: Closure? { state.withLockedValue(\.closure) }
    /// Why this side last ended a connection; nil if it never did.
    @inlinable package var complaint: String? { state.withLockedValue(\.complaint) }
}
