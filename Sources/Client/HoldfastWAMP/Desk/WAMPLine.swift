import CodecCore
import DequeModule
import Holdfast
import Logging
import WebSocketRuntime
import WAMPCore
import WebSocketCore

/// The way out of one connection: what the machine orders is put here in order, and leaves without anybody's lock held.
///
/// Whoever puts something here also sees to it that it leaves, unless another does so already: then that one takes it along.
final class WAMPLine: Sendable {
    /// What leaves, in order.
    enum Item: Sendable {
        case message(WAMPMessage)
        case part(WAMPParting)

        /// The number of a call or a publication.
        fileprivate var request: WAMPID? {
            switch self {
            case .message(.call(let request, _, _, _)), .message(.publish(let request, _, _, _)): request
            case .message, .part: nil
            }
        }
    }
    private struct State {
        var items: Deque<Item> = []
        /// Somebody sends.
        var isBusy = false
        /// The connection takes nothing at once: a task waits for it.
        var isCongested = false
        /// The connection has ended, which it says by itself: what is left here never leaves.
        var isBroken = false
        var isOver = false
        /// What cannot wait for the messages before it.
        var urgent: WAMPParting?
    }
    /// Messages that wait, before senders wait too.
    static let crowd = 512
    /// Messages that wait, before nothing more is read.
    static let throng = 4096

    let connection: WebSocketConnection
    let serialization: WAMPSerialization
    private let trace: WAMPTrace
    private let part: @Sendable (WAMPParting, WebSocketConnection) -> Void
    private let state = LockedValue(State())
    let changes = Changes()

    init(
        _ connection: WebSocketConnection, _ serialization: WAMPSerialization, _ trace: WAMPTrace,
        part: @escaping @Sendable (WAMPParting, WebSocketConnection) -> Void
    ) {
        (self.connection, self.serialization, self.trace, self.part) = (connection, serialization, trace, part)
    }

    /// Puts something here; ``drain()`` has to follow.
    func put(_ item: Item) {
        state.withLockedValue { state in
            guard !state.isOver else { return }
            // The link takes nothing, so it would not take a farewell either.
            if state.isCongested, case .part(let parting) = item { return state.urgent = parting }
            state.items.append(item)
        }
    }

    /// Sends what waits, as far as the connection takes it.
    func drain() {
        if let parting = state.withLockedValue({ $0.urgent.take() }) { part(parting, connection) }
        while let items = take() {
            if items.count >= Self.crowd { changes.announce() }
            for (place, item) in items.enumerated() {
                switch item {
                case .part(let parting): part(parting, connection)
                case .message(let message):
                    guard let encoded = encode(message) else { continue }
                    switch try? connection.offer(encoded) {
                    case true?: break
                    case false?: return wait(encoded, items.dropFirst(place))
                    case nil: return hold(items.dropFirst(place), isBroken: true)
                    }
                }
            }
            state.withLockedValue { $0.isBusy = false }
        }
    }

    private func take() -> Deque<Item>? {
        state.withLockedValue { state in
            guard !state.isBusy, !state.items.isEmpty else { return nil }
            state.isBusy = true
            defer { state.items = [] }
            return state.items
        }
    }

    private func encode(_ message: WAMPMessage) -> Message? {
        trace.sent(message)
        do {
            let bytes = try message.encoded(as: serialization)
            return serialization.isText ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
        } catch {
            // A hole in the numbers of requests would be a violation, so another connection begins anew.
            trace.unencodable(message, error)
            part(.reconnect(.internalError, reason: "a message cannot be written"), connection)
            return nil
        }
    }

    /// Keeps in order what the connection does not take; a farewell does not wait for that.
    private func hold(_ rest: some Collection<Item>, isBroken: Bool) {
        let parting = state.withLockedValue { state -> WAMPParting? in
            (state.isCongested, state.isBroken) = (true, isBroken)
            guard !state.isOver else { return nil }
            state.items.prepend(contentsOf: rest)
            var last: WAMPParting?
            state.items.removeAll { item in
                guard case .part(let parting) = item else { return false }
                last = parting
                return true
            }
            return last
        }
        if isBroken { changes.announce() }
        if let parting { part(parting, connection) }
    }

    /// The connection takes nothing at once: what is left waits for it, the first of it written already.
    private func wait(_ first: Message, _ items: Deque<Item>.SubSequence) {
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
                // Just below each limit, and not for every message.
                return (item, state.items.count % (Self.crowd / 2) == Self.crowd / 2 - 1)
            }
            if isRelieved { changes.announce() }
            guard let item else { return nil }
            switch item {
            case .message(let message): if let encoded = encode(message) { return (encoded, item) }
            case .part(let parting): part(parting, connection)
            }
        }
    }

    /// How many messages wait.
    var count: Int { state.withLockedValue { $0.items.count } }

    /// Waits until fewer messages wait, the line is over, or it is told after a change that this has been long enough.
    func room(below limit: Int, isEnough: () -> Bool = { false }) async {
        while !Task.isCancelled {
            let version = changes.version
            if state.withLockedValue({ $0.isOver || $0.isBroken || $0.items.count < limit }) || isEnough() { return }
            await changes.next(after: version)
        }
    }

    /// The connection is gone.
    ///
    /// - Returns: The calls and publications of which it never took anything.
    func end() -> Set<WAMPID> {
        let unsent = state.withLockedValue { state in
            state.isOver = true
            defer { state.items = [] }
            return state.items
        }
        changes.announce()
        return Set(unsent.compactMap(\.request))
    }
}

/// What becomes of the present connection.
enum WAMPParting: Hashable, Sendable {
    /// It is closed, and another is made.
    case reconnect(CloseCode, reason: String)
    /// It is closed, and no other is made.
    case stop
}
