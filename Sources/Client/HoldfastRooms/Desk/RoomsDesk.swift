import DequeModule
import Foundation
import Holdfast
import MachineCore
import ProtocolClient
import ProtocolCore
import RoomCore
import RoomsWire
import WebSocketRuntime

/// Runs a `RoomsMachine`: the shell around the rules of ``Rooms``.
///
/// What it knows is read from anywhere at any time, so it is behind a lock and no actor's. Nobody is called with the lock held.
final class RoomsDesk: Sendable {
    /// What the store is asked for, in order.
    enum StoreOrder {
        case load(RoomName)
        case commit(Int64, [StoreChange])
    }
    struct Link {
        let queue: OutgoingQueue<ClientFrame>
        let encoding: RoomsEncoding
        /// The server has chosen the encoding: one that chooses none may be no hub.
        let isAgreed: Bool
        /// What the hub has said against this connection.
        var refusal: Refusal?
    }
    struct State {
        /// Nil until the store has said which device it is.
        var machine: RoomsMachine?
        /// What happened before.
        var early: [RoomsInput] = []
        var effects: [RoomsEffect] = []
        var orders: Deque<StoreOrder> = []
        var books: [RoomName: RoomBook] = [:]
        var link: Link?
        /// Something was put into its queue.
        var hasOutput = false
        var isOnline = false
        var user: UserName?
        var connection: String?
        var device: DeviceID?
        var limits = RoomsLimits()
        var lastNumber: UInt64 = 0
        var lastPage: Int64 = 0
        var renewal: Task<Void, Never>?
        var tokenPace = TokenPace()
        /// What keeps us from the hub, until it knows us.
        var cause: RoomsError?
        /// This side has ended the connection, for that cause: it says more than that the connection was closed.
        var isDropped = false
        /// Why nothing more happens; the socket may still be closing.
        var ending: RoomsError?
        var isOver = false
        /// How the present connection is ended.
        var end: ConnectionEnd?
        /// The hub is not to hear of us before.
        var awayUntil = Moment.start
        /// When the token ends that the hub has just taken.
        var renewAt: Int64?
        var woken: [Changes] = []
        var finished: [AsyncStream<ReceivedSignal>.Continuation] = []
        /// Kept until the lock is gone: the last reference to one must not go while it is held.
        var receipts: [Receipt] = []
    }
    /// Frames that wait to be sent, before signals are left out.
    static let signalBacklog = 64
    /// How long closing waits for a connection that takes nothing.
    static let farewellPatience = Duration.seconds(1)
    /// Transactions that wait for the store, before the socket is read no further.
    static let storeBacklog = 64

    let time: LinkTime
    let calendar: @Sendable () -> Int64
    let store: any RoomStore
    let options: RoomsOptions
    let token: TokenProvider?
    let seed: UInt64
    let socket: SocketReference
    private let timer: DeadlineTimer
    /// The state of all rooms together.
    let changes = Changes()
    /// Work for the store, and room for more.
    let storeChanges = Changes()
    let state = LockedValue(State())

    init(
        _ socket: WebSocket, store: any RoomStore, options: RoomsOptions, token: TokenProvider?, time: LinkTime,
        calendar: @escaping @Sendable () -> Int64, seed: UInt64
    ) {
        (self.socket, timer) = (SocketReference(socket), DeadlineTimer(time))
        (self.store, self.options, self.token, self.time, self.calendar, self.seed) = (store, options, token, time, calendar, seed)
    }

    // MARK: - Changes

    /// Tells the machine.
    func tell(_ input: RoomsInput) { change { state, now in Self.tell(input, &state, now) } }

    static func tell(_ input: RoomsInput, _ state: inout State, _ now: Moment) {
        guard !state.isOver else { return }
        if state.machine == nil { return state.early.append(input) }
        state.machine?.handle(input, at: now, into: &state.effects)
    }

    /// Tells what became of an order of the machine's; also at the end, so that each message that was submitted is queued or refused.
    static func answer(_ input: RoomsInput, _ state: inout State, _ now: Moment) {
        state.machine?.handle(input, at: now, into: &state.effects)
    }

    /// Changes what is known, then does what the machine asks for; whom that concerns is called without the lock.
    func change(_ body: (inout State, Moment) -> Void) {
        let (queue, woken, finished, end, renewAt, receipts) = state.withLockedValue { state in
            let queue = state.link?.queue
            body(&state, time.now())
            for effect in state.effects { perform(effect, &state) }
            state.effects.removeAll(keepingCapacity: true)
            if !state.isOver, let deadline = state.machine?.deadline, timer.ringsAfter(deadline) {
                timer.set(deadline) { [weak self] in self?.wake() }
            }
            let sending = state.hasOutput ? state.link?.queue ?? queue : nil
            state.hasOutput = false
            let end = state.end.take().map { (end: $0, connection: (state.link?.queue ?? queue)?.connection) }
            return (sending, state.woken.take(), state.finished.take(), end, state.renewAt.take(), state.receipts.take())
        }
        queue?.drain()
        for changes in woken { changes.announce() }
        for stream in finished { stream.finish() }
        if let renewAt { renewToken(before: renewAt) }
        if let (end, connection) = end { part(end, connection) }
        withExtendedLifetime(receipts) {}
    }

    private func perform(_ effect: RoomsEffect, _ state: inout State) {
        switch effect {
        case .send(let frame):
            guard let link = state.link else { break }
            if case .signal = frame, link.queue.count >= Self.signalBacklog { break }
            link.queue.put(.message(frame))
            state.hasOutput = true
        case .reconnect(let pause):
            let pause = Duration.milliseconds(max(0, pause))
            state.awayUntil = time.now() + pause
            if let link = state.link {
                if !state.isOnline { state.drop(for: link.refusal.map { .refused($0) } ?? link.silence) }
                state.end = Self.reconnect(after: pause)
            }
        case .stop(let refusal):
            state.ending = state.ending ?? .refused(refusal)
            state.end = .stop
            state.woken.append(changes)
        case .load(let room): order(.load(room), &state)
        case .commit(let number, let list): order(.commit(number, list), &state)
        case .news(let news): hear(news, &state)
        }
    }

    private func order(_ order: StoreOrder, _ state: inout State) {
        state.orders.append(order)
        state.woken.append(storeChanges)
    }

    private func wake() { change { state, now in if !state.isOver { state.machine?.wake(at: now, into: &state.effects) } } }

    /// Nothing more happens: everybody who waits is told.
    func finish(_ error: RoomsError) {
        change { state, now in
            guard !state.isOver else { return }
            lose(&state, now)
            state.isOver = true
            let error = state.ending ?? error
            state.ending = error
            timer.cancel()
            state.renewal?.cancel()
            (state.renewal, state.early) = (nil, [])
            state.woken += [changes, storeChanges]
            for name in state.books.keys {
                guard let book = state.books[name] else { continue }
                for receipt in book.liveReceipts {
                    state.receipts.append(receipt)
                    // What is being written ends when that is known.
                    if receipt.stage == .submitted, state.machine != nil { continue }
                    receipt.end(error)
                    state.woken.append(receipt.changes)
                }
                state.woken += book.readers.values.map(\.changes) + [book.changes]
                state.finished += book.signals.values
            }
        }
    }

    // MARK: - Waiting

    /// Looks, and looks again after each change, until there is something; throws when the task is cancelled or the time is over.
    ///
    /// - Parameter isLocal: The hub has no part in it, so what keeps us from the hub is no cause.
    func wait<Value: Sendable>(
        for what: String, isLocal: Bool = false, on changes: Changes, within patience: Duration?,
        _ look: () throws(RoomsError) -> Value?
    ) async throws(RoomsError) -> Value {
        let limit = patience.map { time.now() + $0 }
        let timer = DeadlineTimer(time)
        if let limit { timer.set(limit) { changes.announce() } }
        defer { timer.cancel() }
        while true {
            let version = changes.version
            if let value = try look() { return value }
            if Task.isCancelled { throw .cancelled }
            if let limit, time.now() >= limit { throw .timedOut(what, cause: isLocal ? nil : obstacle) }
            await changes.next(after: version)
        }
    }

    /// What keeps us from the hub at present; nil while it knows us, and if nothing has failed so far.
    var obstacle: RoomsError? {
        state.withLockedValue { state in
            if state.isOnline { return nil }
            return state.cause ?? state.link?.silence
        }
    }
    var ending: RoomsError? { state.withLockedValue { $0.isOver ? $0.ending : nil } }
    var roomsState: RoomsState {
        state.withLockedValue { state in
            if state.isOver, case .closed = state.ending { return .closed(nil) }
            if state.isOver || state.ending != nil { return .closed(state.ending) }
            if state.isOnline, let user = state.user { return .online(user) }
            return state.link == nil && state.machine != nil ? .offline : .connecting
        }
    }
    func status(of room: RoomName) -> RoomStatus {
        state.withLockedValue { state in
            var status = state.books[room]?.status ?? RoomStatus()
            status.user = state.user
            return status
        }
    }
}

extension RoomsDesk.State {
    /// This side ends the connection for this cause.
    mutating func drop(for cause: RoomsError) { (self.cause, isDropped) = (cause, true) }
}

extension RoomsDesk.Link {
    /// What a server is that has not welcomed us so far.
    var silence: RoomsError {
        if isAgreed { return .timedOut("the hub's welcome") }
        return .notAHub("it agreed on no subprotocol of rooms, and has not answered the hello")
    }
}

extension Array {
    /// Takes all there is.
    mutating func take() -> [Element] {
        defer { removeAll() }
        return self
    }
}

extension Date {
    /// Milliseconds since 1970 UTC.
    static var milliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
