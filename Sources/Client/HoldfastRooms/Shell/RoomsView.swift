import DequeModule
import Holdfast
import MachineCore
import HoldfastProtocols
import ProtocolCore
import RoomCore

/// Runs a `RoomsMachine`.
typealias RoomsShell = ProtocolShell<RoomsView>

/// What is the same for all of the rooms' life.
struct RoomsContext: Sendable {
    let store: any RoomStore
    let options: RoomsOptions
    /// Nil if the hub needs no token.
    let tokens: TokenSource?
    let calendar: @Sendable () -> Int64
    let secrets: SessionSecrets
    /// The state of all rooms together.
    let changes = Changes()
    /// Work for the store, and room for more.
    let storeChanges = Changes()

    /// How long the machine waits, and how much it keeps.
    var policy: RoomsPolicy {
        var policy = options.policy
        policy.tokenMargin = tokens == nil ? nil : options.tokenMargin
        return policy
    }
}

/// What ``Rooms`` show beside their machine: what is known of each room, and how it stands with the hub.
struct RoomsView: ProtocolView {
    typealias Rules = RoomsMachine
    typealias Coding = RoomsCoding
    typealias Context = RoomsContext

    /// What the store is asked for, in order.
    enum StoreOrder {
        case load(RoomName)
        case commit(Int64, [StoreChange])
    }
    enum Action {
        case announce(Changes)
        case finish(AsyncStream<ReceivedSignal>.Continuation)
        case renewToken
        case cancelRenewal
    }
    /// Transactions that wait for the store, before the socket is read no further.
    private static let storeBacklog = 64

    var orders: Deque<StoreOrder> = []
    var books: [RoomName: RoomBook] = [:]
    private var coding: RoomsCoding?
    /// What the hub has said against this connection.
    private var refusal: Refusal?
    private var isOnline = false
    private(set) var user: UserName?
    /// Nil until the store is open.
    var device: DeviceID?
    private(set) var limits = RoomsLimits()
    private var lastNumber: UInt64 = 0
    /// What keeps us from the hub, until it knows us.
    private var cause: RoomsError?
    /// This side has ended the connection, for that cause: it says more than that the connection was closed.
    private var isDropped = false
    /// Why nothing more happens; the socket may still be closing.
    var ending: RoomsError?
    private(set) var isOver = false

    var mayReadOn: Bool { orders.count < Self.storeBacklog || isOver }

    /// What keeps us from the hub at present; nil while it knows us, and if nothing has failed so far.
    var obstacle: RoomsError? { isOnline ? nil : cause ?? coding?.silence }

    var state: RoomsState {
        if isOver, case .closed = ending { return .closed(nil) }
        if isOver || ending != nil { return .closed(ending) }
        if isOnline, let user { return .online(user) }
        return coding == nil && device != nil ? .offline : .connecting
    }

    /// For readers, receipts and the like.
    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    func status(of room: RoomName) -> RoomStatus { books[room]?.record.status ?? RoomStatus() }

    // MARK: - The connection

    mutating func open(_ coding: RoomsCoding, in shell: RoomsShell, _ actions: inout [Action]) {
        (self.coding, refusal, cause, isDropped) = (coding, nil, nil, false)
        actions.append(.announce(shell.context.changes))
    }

    mutating func lose(because cause: WebSocketError?, isRetrying: Bool, in shell: RoomsShell, _ actions: inout [Action]) {
        if let cause, !isDropped { self.cause = .connection(cause) }
        if isRetrying { isDropped = false }
        guard coding != nil else { return }
        (coding, isOnline) = (nil, false)
        actions += [.cancelRenewal, .announce(shell.context.changes)]
    }

    mutating func drop(_ end: ConnectionEnd, in shell: RoomsShell) {
        switch end {
        case .reconnect, .reject: break
        case .cut, .close, .stop: return
        }
        if !isOnline, !isDropped, let coding { drop(for: refusal.map { .refused($0) } ?? coding.silence) }
    }

    /// This side ends the connection for this cause.
    mutating func drop(for cause: RoomsError) { (self.cause, isDropped) = (cause, true) }

    mutating func hear(_ event: RoomsEvent, in shell: RoomsShell, _ actions: inout [Action]) {
        switch event {
        case .load(let room): order(.load(room), in: shell, &actions)
        case .commit(let number, let list): order(.commit(number, list), in: shell, &actions)
        case .tokenWanted: actions.append(.renewToken)
        case .refused(let refusal): self.refusal = refusal
        case .unreadable: drop(for: .notAHub("what it sent is no frame of the protocol"))
        case .stopped(let refusal):
            ending = ending ?? .refused(refusal)
            actions.append(.announce(shell.context.changes))
        case .news(let news): hear(news, in: shell, &actions)
        }
    }

    private mutating func hear(_ news: RoomsNews, in shell: RoomsShell, _ actions: inout [Action]) {
        switch news {
        case .welcomed(let user, _, let limits, _):
            (isOnline, self.user, self.limits, cause) = (true, user, limits, nil)
            actions.append(.announce(shell.context.changes))
        case .renewed(let device): self.device = device
        case .signal(let room, let user, let connection, let signal):
            for reader in books[room]?.signals.values.map(\.self) ?? [] {
                reader.yield(ReceivedSignal(user: user, connection: connection, signal: signal))
            }
            return
        default: break
        }
        // What is about no room concerns all of them.
        for room in news.room.map({ [$0] }) ?? Array(books.keys) { change(room, &actions) { $0.hear(news) } }
    }

    /// Changes what is known of a room, and wakes those who wait for it; nil if it was never joined.
    @discardableResult
    mutating func change<Value>(_ room: RoomName, _ actions: inout [Action], _ body: (inout RoomRecord) -> Value) -> Value? {
        books[room]?.change(&actions, body)
    }

    private mutating func order(_ order: StoreOrder, in shell: RoomsShell, _ actions: inout [Action]) {
        orders.append(order)
        actions.append(.announce(shell.context.storeChanges))
    }

    mutating func end(_ closure: Closure?, in shell: RoomsShell, _ actions: inout [Action]) {
        let error = ending ?? closure?.error.map { .connection($0) } ?? .closed
        (isOver, ending) = (true, error)
        actions += [.announce(shell.context.changes), .announce(shell.context.storeChanges)]
        for book in books.values {
            actions += book.followed.map { .announce($0) } + [.announce(book.changes)] + book.signals.values.map { .finish($0) }
        }
    }

    /// What has become of a message, and why no more will; read together, so that neither is older than the other.
    func standing(of receipt: Receipt) -> (stage: DeliveryStage, ending: RoomsError?) {
        (books[receipt.room]?.record.stage(for: receipt.number) ?? .submitted, ending(of: receipt))
    }

    /// Why nothing more becomes of a message; nil while something may.
    private func ending(of receipt: Receipt) -> RoomsError? {
        let record = books[receipt.room]?.record
        if let refusal = record?.refusal(for: receipt.number) { return .notQueued(refusal) }
        guard isOver, let ending else { return nil }
        guard record?.stage(for: receipt.number) == .submitted else { return ending }
        // What is being written ends when that is known.
        if device != nil { return nil }
        if case .closed = ending { return .notQueued(.closed) }
        return ending
    }

    static func perform(_ action: Action, in shell: RoomsShell) {
        switch action {
        case .announce(let changes): changes.announce()
        case .finish(let stream): stream.finish()
        case .renewToken:
            shell.context.tokens?.renew { [weak shell] token in shell?.command { view, _ in (view.isOnline ? .token(token) : nil, ()) } }
        case .cancelRenewal: shell.context.tokens?.cancelRenewal()
        }
    }
}

extension RoomsShell {
    /// How long closing waits for a connection that takes nothing.
    private static var farewellPatience: Duration { .seconds(1) }

    var changes: Changes { context.changes }
    /// Why nothing more happens; nil while something may.
    var ending: RoomsError? { access { view in view.isOver ? view.ending : nil } }

    /// Looks, and looks again after each change, until there is something; throws when the task is cancelled or the time is over.
    ///
    /// - Parameter isLocal: The hub has no part in it, so what keeps us from the hub is no cause.
    func wait<Value: Sendable>(
        for what: String, isLocal: Bool = false, on changes: Changes, within patience: Duration?, _ look: () throws(RoomsError) -> Value?
    ) async throws(RoomsError) -> Value {
        let limit = patience.map { time.now() + $0 }
        if let value = try await changes.first(until: limit, on: time, look) { return value }
        if Task.isCancelled { throw .cancelled }
        throw .timedOut(what, cause: isLocal ? nil : access { view in view.obstacle })
    }

    /// Tells the machine what the calendar says, each minute.
    func followCalendar() async {
        while (try? await time.sleep(time.now() + .seconds(60))) != nil { command(.calendar(context.calendar())) }
    }

    /// Tells the hub that this device leaves all rooms; waits until the connection has taken that, for a moment at most.
    ///
    /// Others would else see it for as long as one whose connection was lost.
    func sayFarewell() async {
        command(.farewell)
        await outgoing?.room(below: 1, until: time.now() + Self.farewellPatience, on: time)
    }
}
