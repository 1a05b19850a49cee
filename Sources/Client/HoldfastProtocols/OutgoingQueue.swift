public import DequeModule
public import Holdfast
public import MachineCore
public import ProtocolCore
public import WebSocketCore
public import WebSocketRuntime

/// The limits for messages that wait for a connection that accepts nothing.
@usableFromInline package enum OutgoingLimits {
    /// The number at which ephemeral messages are dropped.
    @usableFromInline package static let ephemeral = 64
    /// The number at which senders wait, too.
    @usableFromInline package static let senders = 512
    /// The number at which reading pauses, so that a peer that requests more than it accepts has to wait for its answers.
    @usableFromInline package static let reader = 4096
    /// The number at which the connection is cut.
    @usableFromInline package static let all = 65_536
}

/// The outgoing messages of a protocol on one connection: items are queued in order, and sent without holding a lock.
///
/// Every caller of ``put(_:)`` calls ``drain()`` afterwards. If another task is already sending, that task sends the new item, too. The code
/// on the path of every message is inlinable, so that it is specialized for the messages of each protocol. With Swift 6.3 this requires
/// `@usableFromInline` types.
@usableFromInline package final class OutgoingQueue<Sent: Sendable>: Sendable {
    /// An item to send.
    @usableFromInline package enum Item: Sendable {
        case message(Sent)
        case end(ConnectionEnd)
    }
    @usableFromInline struct State: Sendable {
        @usableFromInline var items: Deque<Item> = []
        /// Whether a task is sending.
        @usableFromInline var isBusy = false
        /// Whether the connection accepts nothing at once, so that a task waits for it.
        @usableFromInline var isCongested = false
        /// Whether the connection has ended, which it reports itself; the remaining items are never sent.
        @usableFromInline var isBroken = false
        @usableFromInline var isOver = false
        /// An end that must not wait for the messages before it.
        @usableFromInline var urgent: ConnectionEnd?
        /// The number of tasks that wait for room.
        @usableFromInline var waiters = 0

        @usableFromInline init() {}
    }

    @usableFromInline package let connection: WebSocketConnection
    @usableFromInline package let changes = Changes()
    @usableFromInline let encode: @Sendable (Sent) throws -> Message
    @usableFromInline let end: @Sendable (ConnectionEnd, WebSocketConnection) -> Void
    @usableFromInline let state: LockedValue<State>

    /// - Parameters:
    ///   - encode: Encodes a message. If it throws, the connection is ended with 1011, because the peer would miss a message.
    ///   - end: Ends the connection.
    @usableFromInline package init(
        _ connection: WebSocketConnection, encode: @escaping @Sendable (Sent) throws -> Message,
        end: @escaping @Sendable (ConnectionEnd, WebSocketConnection) -> Void
    ) {
        (self.connection, self.encode, self.end, state) = (connection, encode, end, LockedValue(State()))
    }

    /// Adds an item; call ``drain()`` afterwards.
    @inlinable package func put(_ item: Item) {
        state.withLockedValue { state in
            guard !state.isOver else { return }
            // On a congested connection an end does not wait, because the messages before it may never be sent.
            if state.isCongested, case .end(let end) = item { return state.urgent = end }
            // Items that were added at once and not offered yet do not count against the peer.
            if !state.isCongested || state.items.count < OutgoingLimits.all { return state.items.append(item) }
            state.urgent = state.urgent ?? .cut(reason: "the peer accepts nothing, and too many messages wait")
        }
    }

    /// Sends the waiting items, as far as the connection accepts them.
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

    /// Keeps the items that the connection did not accept, in order; performs an end among them at once.
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

    /// Starts a task that sends the remaining items when the connection accepts them; the first one is already encoded.
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
                // Announces just below each limit, counting this item, and not for every message.
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

    /// The number of waiting messages.
    @inlinable package var count: Int { state.withLockedValue { $0.items.count } }

    /// Waits until fewer messages wait or the connection has ended, but not after the deadline.
    @usableFromInline package func room(below limit: Int, until end: Moment, on time: LinkTime) async {
        let timer = DeadlineTimer(time)
        timer.set(end) { [changes] in changes.announce() }
        defer { timer.cancel() }
        await room(below: limit) { time.now() >= end }
    }

    /// Waits until fewer messages wait, the connection has ended, or `isEnough` returns true after a change.
    @usableFromInline package func room(below limit: Int, isEnough: () -> Bool = { false }) async {
        state.withLockedValue { $0.waiters += 1 }
        defer { state.withLockedValue { $0.waiters -= 1 } }
        while !Task.isCancelled {
            let version = changes.version
            let hasRoom = state.withLockedValue { state in
                // The sending task holds at least one item.
                state.isOver || state.isBroken || state.items.count + (state.isBusy ? 1 : 0) < limit
            }
            if hasRoom || isEnough() { return }
            await changes.next(after: version)
        }
    }

    /// Closes the queue after the end of the connection.
    ///
    /// - Returns: The messages of which the connection took nothing, and the end after them if it is one of the socket, too.
    @usableFromInline package func close() -> (unsent: [Sent], end: ConnectionEnd?) {
        let (items, urgent) = state.withLockedValue { state in
            state.isOver = true
            defer { state.items = [] }
            return (state.items, state.urgent.take())
        }
        changes.announce()
        let unsent = items.compactMap { if case .message(let message) = $0 { message } else { nil } }
        let ends = items.compactMap { if case .end(let end) = $0 { end } else { nil } } + [urgent].compactMap(\.self)
        return (unsent, ends.last(where: \.endsSocket))
    }
}
