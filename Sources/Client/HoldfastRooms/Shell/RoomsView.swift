import DequeModule
import Holdfast
import HoldfastProtocols
import MachineCore
import ProtocolCore
import RoomCore
import RoomsWire
import WebSocketCore
import WebSocketRuntime

/// Runs a `RoomsMachine`.
typealias RoomsShell = ProtocolShell<RoomsView>

/// The values that stay the same for the whole life of the rooms.
struct RoomsContext: Sendable {
    let store: any RoomStore
    let options: RoomsOptions
    /// The source of tokens; nil if the hub needs none.
    let tokens: TokenSource?
    let calendar: @Sendable () -> Int64
    let secrets: SessionSecrets
    /// Announces changes of the connection state.
    let changes = Changes()
    /// Announces new orders for the store, and that the store has taken some.
    let storeChanges = Changes()

    /// The machine's delays and limits.
    var policy: RoomsPolicy {
        var policy = options.policy
        policy.tokenMargin = tokens == nil ? nil : options.tokenMargin
        return policy
    }
}

/// The state that ``Rooms`` keep beside their machine: the state of each room and of the connection to the hub.
struct RoomsView: ProtocolView {
    typealias Rules = RoomsMachine
    typealias Coding = RoomsCoding
    typealias Context = RoomsContext

    /// The orders for the store, in order.
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
    /// The number of waiting transactions at which the client stops reading from the socket.
    private static let storeBacklog = 64

    var orders: Deque<StoreOrder> = []
    var observers: [RoomName: RoomObservers] = [:]
    private var coding: RoomsCoding?
    /// The hub's refusal on this connection.
    private var refusal: Refusal?
    private var isOnline = false
    private(set) var user: UserName?
    /// Nil until the store is open.
    var device: DeviceID?
    private(set) var limits = RoomsLimits()
    private var lastNumber: UInt64 = 0
    /// The reason why the client is not online, until the hub accepts it.
    private var cause: RoomsError?
    /// Whether this side ended the connection for that cause, which says more than that the connection was closed.
    private var isDropped = false
    /// The reason why the rooms have ended; the socket may still be closing.
    var ending: RoomsError?
    private(set) var isOver = false

    var mayReadOn: Bool { orders.count < Self.storeBacklog || isOver }

    /// The reason why the client is not online; nil while it is online, and if nothing has failed so far.
    var obstacle: RoomsError? { isOnline ? nil : cause ?? coding?.silence }

    var state: RoomsState {
        if isOver, case .closed = ending { return .closed(nil) }
        if isOver || ending != nil { return .closed(ending) }
        if isOnline, let user { return .online(user) }
        return coding == nil && device != nil ? .offline : .connecting
    }

    /// Returns a unique number for a reader, a receipt, or a page.
    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    func status(of room: RoomName) -> RoomStatus { observers[room]?.record.status ?? RoomStatus() }

    // MARK: - Connection

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
        case .cut, .close, .stop, .disconnect: return
        }
        if !isOnline, !isDropped, let coding { drop(for: refusal.map { .refused($0) } ?? coding.silence) }
    }

    /// Records that this side ends the connection for this cause.
    mutating func drop(for cause: RoomsError) { (self.cause, isDropped) = (cause, true) }

    mutating func handle(_ event: RoomsEvent, in shell: RoomsShell, _ actions: inout [Action]) {
        switch event {
        case .load(let room): order(.load(room), in: shell, &actions)
        case .commit(let number, let list): order(.commit(number, list), in: shell, &actions)
        case .tokenWanted: actions.append(.renewToken)
        case .refused(let refusal): self.refusal = refusal
        case .unreadable: drop(for: .notAHub("what it sent is no frame of the protocol"))
        case .stopped(let refusal):
            ending = ending ?? .refused(refusal)
            actions.append(.announce(shell.context.changes))
        case .news(let news): handle(news, in: shell, &actions)
        }
    }

    private mutating func handle(_ news: RoomsNews, in shell: RoomsShell, _ actions: inout [Action]) {
        switch news {
        case .welcomed(let user, _, let limits, _):
            (isOnline, self.user, self.limits, cause) = (true, user, limits, nil)
            actions.append(.announce(shell.context.changes))
        case .renewed(let device): self.device = device
        case .signal(let room, let user, let connection, let signal):
            for reader in observers[room]?.signals.values.map(\.self) ?? [] {
                reader.yield(ReceivedSignal(user: user, connection: connection, signal: signal))
            }
            return
        default: break
        }
        // News without a room concerns all rooms.
        for room in news.room.map({ [$0] }) ?? Array(observers.keys) { change(room, &actions) { $0.handle(news) } }
    }

    /// Changes the state of a room and notifies all that wait for it; returns nil if the room was never joined.
    @discardableResult
    mutating func change<Value>(_ room: RoomName, _ actions: inout [Action], _ body: (inout RoomRecord) -> Value) -> Value? {
        observers[room]?.change(&actions, body)
    }

    private mutating func order(_ order: StoreOrder, in shell: RoomsShell, _ actions: inout [Action]) {
        orders.append(order)
        actions.append(.announce(shell.context.storeChanges))
    }

    mutating func end(_ closure: Closure?, in shell: RoomsShell, _ actions: inout [Action]) {
        let error = ending ?? closure?.error.map { .connection($0) } ?? .closed
        (isOver, ending) = (true, error)
        actions += [.announce(shell.context.changes), .announce(shell.context.storeChanges)]
        for observer in observers.values {
            actions += observer.followed.map { .announce($0) } + [.announce(observer.changes)] + observer.signals.values.map { .finish($0) }
        }
    }

    /// The stage of a message, and the reason why it will not change any more; read together, so that both are equally recent.
    func standing(of receipt: Receipt) -> (stage: DeliveryStage, ending: RoomsError?) {
        (observers[receipt.room]?.record.stage(for: receipt.number) ?? .submitted, ending(of: receipt))
    }

    /// The reason why the stage of a message will not change any more; nil while it may change.
    private func ending(of receipt: Receipt) -> RoomsError? {
        let record = observers[receipt.room]?.record
        if let refusal = record?.refusal(for: receipt.number) { return .notQueued(refusal) }
        guard isOver, let ending else { return nil }
        guard record?.stage(for: receipt.number) == .submitted else { return ending }
        // A message that is being written ends when the result of the write is known.
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
    /// How long closing waits for a connection that accepts no data.
    private static var closeTimeout: Duration { .seconds(1) }

    var changes: Changes { context.changes }
    /// The reason why the rooms have ended; nil while they are open.
    var ending: RoomsError? { access { view in view.isOver ? view.ending : nil } }

    /// Calls `look` now and after each change until it returns a value; throws when the task is cancelled or the time is over.
    ///
    /// - Parameter isLocal: Whether the hub is not involved, so that a missing connection is not reported as the cause.
    func wait<Value: Sendable>(
        for what: String, isLocal: Bool = false, on changes: Changes, within patience: Duration?, _ look: () throws(RoomsError) -> Value?
    ) async throws(RoomsError) -> Value {
        let limit = patience.map { time.now() + $0 }
        if let value = try await changes.first(until: limit, on: time, look) { return value }
        if Task.isCancelled { throw .cancelled }
        throw .timedOut(what, cause: isLocal ? nil : access { view in view.obstacle })
    }

    /// Tells the machine the calendar time once a minute.
    func followCalendar() async {
        while (try? await time.sleep(time.now() + .seconds(60))) != nil { command(.calendar(context.calendar())) }
    }

    /// Tells the hub that this device leaves all rooms; waits a short time until the connection has accepted that.
    ///
    /// Otherwise others would see the device for as long as one with a lost connection.
    func prepareToClose() async {
        command(.prepareToClose)
        await outgoing?.room(below: 1, until: time.now() + Self.closeTimeout, on: time)
    }
}

/// The state of one room, with its receipts and everything that waits for changes.
struct RoomObservers {
    private struct Follower {
        /// Weak, because the app owns the receipt.
        weak var receipt: Receipt?
        let changes: Changes
    }

    /// The room's state; changing it directly notifies nobody, use ``change(_:_:)`` for that.
    var record: RoomRecord
    let changes = Changes()
    var signals: [UInt64: AsyncStream<ReceivedSignal>.Continuation] = [:]
    /// The followers, by the numbers of their receipts.
    private var followers: [UInt64: Follower] = [:]

    init(user: UserName?) { record = RoomRecord(user: user) }

    /// Changes the state and notifies all that wait for a change.
    mutating func change<Value>(_ actions: inout [RoomsView.Action], _ body: (inout RoomRecord) -> Value) -> Value {
        let value = body(&record)
        actions.append(.announce(changes))
        actions += record.takeChanged().compactMap { followers[$0].map { .announce($0.changes) } }
        return value
    }

    /// Returns the receipt of a message: the existing one, or else `made`; nil if no such message is in the outbox.
    ///
    /// The caller must keep both alive until it has released the lock, because the deinitialiser of a receipt takes the lock.
    mutating func follow(with made: Receipt) -> Receipt? {
        if let receipt = record.follower(of: made.id).flatMap({ followers[$0]?.receipt }) { return receipt }
        guard record.follow(made.id, as: made.number) else { return nil }
        followers[made.number] = Follower(receipt: made, changes: made.changes)
        return made
    }

    mutating func unfollow(_ number: UInt64) {
        followers[number] = nil
        record.unfollow(number)
    }

    var followed: [Changes] { followers.values.map(\.changes) }
}

/// Encodes and decodes the frames of one connection, and holds the token shown on it.
struct RoomsCoding: ProtocolCoding {
    let encoding: RoomsEncoding
    /// Whether the server chose the encoding; a server that chose none may not be a hub.
    let isAgreed: Bool
    let greeting: RoomsGreeting
    let secrets: SessionSecrets

    func decode(_ message: Message) throws -> HubFrame? {
        let frame = try encoding.decodeHubFrame(message)
        guard case .refusal(var refusal)? = frame else { return frame }
        // A hub may repeat a token in the text of a refusal, and apps show that text.
        refusal.text = secrets.hiding(refusal.text)
        return .refusal(refusal)
    }

    func encode(_ frame: ClientFrame) -> Message { encoding.encode(frame) }

    func isEphemeral(_ frame: ClientFrame) -> Bool { if case .signal = frame { true } else { false } }

    /// The error for a server that has not sent a welcome in time.
    var silence: RoomsError {
        if isAgreed { return .timedOut("the hub's welcome") }
        return .notAHub("it selected no rooms subprotocol, and has not answered the hello")
    }
}

extension RoomsView {
    static func coding(for opening: Opening, in shell: RoomsShell) async throws(ConnectionEnd) -> RoomsCoding {
        let token: String?
        do throws(TokenSource.Failure) { token = try await shell.context.tokens?.token() } catch {
            let error = RoomsError(error)
            guard error.isRetryable || Task.isCancelled else {
                shell.access { view in view.ending = view.ending ?? error }
                shell.changes.announce()
                throw .stop
            }
            // Treated like a hub that does not answer: the socket's backoff decides when to try again.
            shell.access { view in view.drop(for: error) }
            throw .cut(reason: "there is no token")
        }
        let context = shell.context
        return RoomsCoding(
            encoding: opening.subprotocol.flatMap { RoomsEncoding(subprotocol: $0) } ?? .json, isAgreed: opening.subprotocol != nil,
            greeting: RoomsGreeting(token: token, calendar: context.calendar()), secrets: context.secrets)
    }

    /// Whether to read on; false while the store has too many pending changes.
    static func mayReadOn(in shell: RoomsShell) -> Bool { shell.access { view in view.mayReadOn } }
    static func pace(in shell: RoomsShell) async {
        await shell.context.storeChanges.first { mayReadOn(in: shell) ? () : nil }
    }
}
