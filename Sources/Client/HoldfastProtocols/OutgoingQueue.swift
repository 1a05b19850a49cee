public import DequeModule
public import Holdfast
public import MachineCore
public import ProtocolCore
public import WebSocketCore
public import WebSocketRuntime

/// How many messages may wait for a connection that takes nothing.
@usableFromInline package enum OutgoingLimits {
    /// Before ephemeral messages are left out.
    @usableFromInline package static let ephemeral = 64
    /// Before senders wait, too.
    @usableFromInline package static let senders = 512
    /// Before nothing more is read: a peer that asks for more than it takes waits for its answers.
    @usableFromInline package static let reader = 4096
    /// Before a connection that takes nothing is cut.
    @usableFromInline package static let all = 65_536
}

/// What a protocol sends over one connection: orders enter in order, and leave without anybody's lock held.
///
/// Whoever puts something here calls ``drain()`` afterwards. If another task sends already, that one takes it along. What every message passes
/// is inlinable, so that it is compiled for the messages of each protocol: with Swift 6.3, that takes types which are `@usableFromInline`.
@usableFromInline package final class OutgoingQueue<Sent: Sendable>: Sendable {
    /// What leaves, in order.
    @usableFromInline package enum Item: Sendable {
        case message(Sent)
        case end(ConnectionEnd)
    }
    @usableFromInline struct State: Sendable {
        @usableFromInline var items: Deque<Item> = []
        /// Somebody sends.
        @usableFromInline var isBusy = false
        /// The connection takes nothing at once: a task waits for it.
        @usableFromInline var isCongested = false
        /// The connection has ended, which it says by itself: what is left here never leaves.
        @usableFromInline var isBroken = false
        @usableFromInline var isOver = false
        /// What cannot wait for the messages before it.
        @usableFromInline var urgent: ConnectionEnd?
        /// How many tasks wait for room.
        @usableFromInline var waiters = 0

        @usableFromInline init() {}
    }

    @usableFromInline package let connection: WebSocketConnection
    @usableFromInline package let changes = Changes()
    @usableFromInline let encode: @Sendable (Sent) throws -> Message
    @usableFromInline let end: @Sendable (ConnectionEnd, WebSocketConnection) -> Void
    @usableFromInline let state: LockedValue<State>

    /// - Parameters:
    ///   - encode: Makes a message. If it throws, the connection is ended with 1011, for the peer would miss something.
    ///   - end: Ends the connection.
    @usableFromInline package init(
        _ connection: WebSocketConnection, encode: @escaping @Sendable (Sent) throws -> Message,
        end: @escaping @Sendable (ConnectionEnd, WebSocketConnection) -> Void
    ) {
        (self.connection, self.encode, self.end, state) = (connection, encode, end, LockedValue(State()))
    }

    /// Puts something here; ``drain()`` has to follow.
    @inlinable package func put(_ item: Item) {
        state.withLockedValue { state in
            guard !state.isOver else { return }
            // A connection that takes nothing takes no farewell either.
            if state.isCongested, case .end(let end) = item { return state.urgent = end }
            // What was ordered at once, and not offered yet, is no fault of the peer's.
            if !state.isCongested || state.items.count < OutgoingLimits.all { return state.items.append(item) }
            state.urgent = state.urgent ?? .cut(reason: "the peer takes nothing, and too much waits")
        }
    }

    /// Sends what waits, as far as the connection takes it.
    @inlinable package func drain() {
        if let end = state.withLockedValue({ $0.urgent.take() }) { self.end(end, connection) }
        while let items = take() {
            if items.count >= OutgoingLimits.senders { changes.announce() }
            for (place, item) in items.enumerated() {
                switch item {
                case .end(let end): self.end(end, connection)
                case .message(let message):
                    guard let encoded = encoded(message) else { continue }
                    switch try? connection.offer(encoded) {
                    case true?: break
                    case false?: return wait(encoded, items.dropFirst(place))
                    case nil: return hold(items.dropFirst(place), isBroken: true)
                    }
                }
            }
            let isAwaited = state.withLockedValue { state in
                state.isBusy = false
                return state.waiters > 0
            }
            if isAwaited { changes.announce() }
        }
    }

    @inlinable func take() -> Deque<Item>? {
        state.withLockedValue { state in
            guard !state.isBusy, !state.items.isEmpty else { return nil }
            state.isBusy = true
            defer { state.items = [] }
            return state.items
        }
    }

    @inlinable func encoded(_ message: Sent) -> Message? {
        do { return try encode(message) } catch {
            end(.reject(.internalError, reason: "a message cannot be written"), connection)
            return nil
        }
    }

    /// Keeps in order what the connection does not take; an end does not wait for that.
    @usableFromInline func hold(_ rest: some Collection<Item>, isBroken: Bool) {
        let end = state.withLockedValue { state -> ConnectionEnd? in
            (state.isCongested, state.isBroken) = (true, isBroken)
            guard !state.isOver else { return nil }
            state.items.prepend(contentsOf: rest)
            var last: ConnectionEnd?
            state.items.removeAll { item in
                guard case .end(let end) = item else { return false }
                last = end
                return true
            }
            return last
        }
        if isBroken { changes.announce() }
        if let end { self.end(end, connection) }
    }

    /// The connection takes nothing at once: what is left waits for it, the first of it encoded already.
    @usableFromInline func wait(_ first: Message, _ items: Deque<Item>.SubSequence) {
        hold(items.dropFirst(), isBroken: false)
        // SAFETY: ends when the connection has taken it all, or is ending.
        Task {
            var next = items.first.map { (first, $0) }
            while let (message, item) = next {
                guard (try? await connection.send(message)) != nil else { return hold([item], isBroken: true) }
                next = nextWaiting()
            }
            let isDone = state.withLockedValue { state in
                (state.isBusy, state.isCongested) = (false, false)
                return state.isOver
            }
            changes.announce()
            if !isDone { drain() }
        }
    }

    private func nextWaiting() -> (Message, Item)? {
        while true {
            let (item, isRelieved) = state.withLockedValue { state -> (Item?, Bool) in
                guard !state.isOver, let item = state.items.popFirst() else { return (nil, false) }
                // Just below each limit, with this one, and not for every message.
                let step = OutgoingLimits.senders / 2
                return (item, state.items.count % step == step - 2)
            }
            if isRelieved { changes.announce() }
            guard let item else { return nil }
            switch item {
            case .message(let message): if let encoded = encoded(message) { return (encoded, item) }
            case .end(let end): self.end(end, connection)
            }
        }
    }

    /// How many messages wait.
    @inlinable package var count: Int { state.withLockedValue { $0.items.count } }

    /// Waits until fewer messages wait, or the connection is over, but not longer than until a moment.
    @usableFromInline package func room(below limit: Int, until end: Moment, on time: LinkTime) async {
        let timer = DeadlineTimer(time)
        timer.set(end) { [changes] in changes.announce() }
        defer { timer.cancel() }
        await room(below: limit) { time.now() >= end }
    }

    /// Waits until fewer messages wait, the connection is over, or it is told after a change that this has been long enough.
    @usableFromInline package func room(below limit: Int, isEnough: () -> Bool = { false }) async {
        state.withLockedValue { $0.waiters += 1 }
        defer { state.withLockedValue { $0.waiters -= 1 } }
        while !Task.isCancelled {
            let version = changes.version
            let hasRoom = state.withLockedValue { state in
                // One at least is with whoever sends.
                state.isOver || state.isBroken || state.items.count + (state.isBusy ? 1 : 0) < limit
            }
            if hasRoom || isEnough() { return }
            await changes.next(after: version)
        }
    }

    /// The connection is gone.
    ///
    /// - Returns: The messages of which it never took anything, and whether the socket was to be stopped after them.
    @usableFromInline package func close() -> (unsent: [Sent], stops: Bool) {
        let (items, urgent) = state.withLockedValue { state in
            state.isOver = true
            defer { state.items = [] }
            return (state.items, state.urgent.take())
        }
        changes.announce()
        let unsent = items.compactMap { if case .message(let message) = $0 { message } else { nil } }
        return (unsent, urgent == .stop || items.contains { if case .end(.stop) = $0 { true } else { false } })
    }
}
