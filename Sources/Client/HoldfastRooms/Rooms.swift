public import Holdfast
import HoldfastProtocols
import MachineCore
public import RoomCore
public import RoomsWire
import WebSocketCore
import WebSocketRuntime

/// Returns the token that authenticates the user; called for every connection, and before a token expires.
///
/// It may throw `CredentialUnavailable` to say that asking again cannot help. A call that takes longer than
/// ``RoomsOptions/tokenPatience`` is cancelled, and its token is not used.
public typealias TokenProvider = @Sendable () async throws -> String

/// Rooms with exactly-once messages: an outbox and a history on disk, over a socket that reconnects.
///
/// ```swift
/// let rooms = Rooms("wss://example.com/", store: try SQLiteRoomStore(path: path)) { try await tokens.fresh() }
/// let room = try await rooms.join("abc")
/// try await room.send(ChatText("hi")).stored()
/// ```
///
/// A submitted message is on disk before it counts. It is sent again after every lost connection, and takes effect once. Received entries
/// are stored together with the position up to which they were received, so they are available without a connection, and none is lost or
/// duplicated.
///
/// A store belongs to one user, and to one `Rooms` object at a time. The object ends with ``close()``, or when the last reference to it
/// is released.
public final class Rooms: Sendable {
    /// The socket below, with the connection's state and statistics.
    public let socket: WebSocket
    let shell: RoomsShell
    private let task: Task<Void, Never>
    private let storing: Task<Void, Never>

    /// Creates the rooms and starts to connect.
    ///
    /// - Parameters:
    ///   - url: `wss://…`, or `ws://…`.
    ///   - store: The store of the outbox and the history.
    ///   - options: The options.
    ///   - token: Returns the token that authenticates the user; nil if the hub needs none.
    ///   - configure: Changes the options of the socket.
    public convenience init(
        _ url: String, store: some RoomStore, options: RoomsOptions = RoomsOptions(), token: TokenProvider? = nil,
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        let socket = WebSocket(url) { socket in
            RoomsOptions.prepare(&socket)
            configure(&socket)
            // The closure may have replaced the configuration.
            socket.connection.redirectsStayInOrigin = true
        }
        self.init(over: socket, store: store, options: options, token: token)
    }

    /// Creates rooms over an existing socket; see ``RoomsOptions/prepare(_:_:)``.
    ///
    /// Nothing else should send over this socket.
    ///
    /// - Parameters:
    ///   - socket: The socket; it lives at least as long as this object.
    ///   - store: The store of the outbox and the history.
    ///   - options: The options.
    ///   - clock: The clock for deadlines.
    ///   - calendar: Returns the time in milliseconds since 1970 UTC; nil uses the system's.
    ///   - seed: The seed of the random numbers; by default different for each object.
    ///   - token: Returns the token that authenticates the user; nil if the hub needs none.
    public init<C: Clock>(
        over socket: WebSocket, store: some RoomStore, options: RoomsOptions = RoomsOptions(), clock: C = ContinuousClock(),
        calendar: (@Sendable () -> Int64)? = nil, seed: UInt64 = .random(in: .min ... .max),
        token: TokenProvider? = nil
    ) where C.Duration == Duration {
        let time = LinkTime(clock)
        let tokens = token.map { TokenSource(within: options.tokenPatience, on: time, secrets: socket.secrets, $0) }
        let context = RoomsContext(
            store: store, options: options, tokens: tokens, calendar: calendar ?? { WallClock.milliseconds }, secrets: socket.secrets)
        let machine = RoomsMachine(policy: context.policy, seed: seed)
        let shell = RoomsShell(machine, RoomsView(), context, over: socket, time: time)
        shell.command(.calendar(context.calendar()))
        (self.socket, self.shell) = (socket, shell)
        let events = socket.events
        // SAFETY: owned by this object, which cancels it when it is released.
        task = Task {
            async let _ = shell.followCalendar()
            await shell.follow(events)
        }
        // SAFETY: ends when the shell is finished and all ordered changes are written; it is not cancelled, because a transaction must
        // not be.
        storing = Task { await shell.serveStore() }
    }

    deinit {
        task.cancel()
        // The tasks may hold the shell for a moment longer.
        shell.finish(nil)
    }

    /// The state of the connection to the hub.
    public var state: RoomsState { shell.access { view in view.state } }

    /// The state of the connection to the hub, starting with the current one; ends with ``RoomsState/closed(_:)``.
    ///
    /// A slow reader misses states in between, but never the last one.
    public var states: StateSequence<RoomsState> {
        StateSequence(shell.changes) { [self] in
            let (version, state) = (shell.changes.version, state)
            return if case .closed = state { (state, version, true) } else { (state, version, false) }
        }
    }

    /// The own user name, as told by the hub; nil until then.
    public var user: UserName? { shell.access { view in view.user } }

    /// The device ID of the store; nil before the store is opened.
    public var device: DeviceID? { shell.access { view in view.device } }

    /// The limits for messages, as told by the hub.
    public var limits: RoomsLimits { shell.access { view in view.limits } }

    /// Joins a room, now and after every reconnect; returns when its stored entries can be read, with or without a connection.
    ///
    /// - Parameters:
    ///   - name: 1 to 128 bytes of UTF-8 without control characters.
    ///   - start: Where to begin if nothing is stored.
    ///   - limit: The maximum number of missed entries to fetch; if more were missed, a snapshot replaces them. 0 means no limit.
    ///   - presence: The presence to show; nil neither shows the user nor subscribes to the presence of others.
    public func join(
        _ name: String, from start: RoomStart = .last, limit: Int = 10_000, presence: Presence? = Presence()
    ) async throws(RoomsError) -> Room {
        guard let room = RoomName(name) else { throw .badName(name) }
        let request = JoinRequest(
            start: start.joinStart, limit: Int64(clamping: limit), wantsPresence: presence != nil, presence: presence ?? Presence())
        try await shell.join(room, request)
        return Room(name: room, rooms: self)
    }

    /// Returns the rooms with stored entries or a non-empty outbox, with their unread counts; works without a connection.
    public func storedRooms() async throws(RoomsError) -> [StoredRoomSummary] {
        try await shell.reading { try await shell.context.store.rooms() }
    }

    /// Sends a failed message again.
    ///
    /// ``Receipt/retry()`` does the same. The stage of the message is ``DeliveryStage/submitted`` until it is in the outbox again.
    ///
    /// - Throws: ``RoomsError/unknownMessage(_:)`` if the message is not in the outbox of a joined room, or has not failed.
    public func retry(_ message: MessageID) throws(RoomsError) { try shell.retry(message) }

    /// Removes a message from the outbox.
    ///
    /// A message that may already have been sent cannot be recalled: either the hub has stored it, or the client tells the hub never to
    /// store it.
    ///
    /// - Throws: ``RoomsError/unknownMessage(_:)`` if the message is not in the outbox of a joined room.
    public func discard(_ message: MessageID) throws(RoomsError) { try shell.discard(message) }

    /// Waits until the hub has accepted this client.
    ///
    /// - Parameter patience: How long to wait; nil waits without a limit.
    public func whenOnline(within patience: Duration? = nil) async throws(RoomsError) {
        try await shell.wait(for: "the connection", on: shell.changes, within: patience) { () throws(RoomsError) -> Void? in
            switch state {
            case .online: return ()
            case .closed(let error): throw error ?? .closed
            case .connecting, .offline: return nil
            }
        }
    }

    /// Leaves all rooms, closes the socket for good, and returns when all ordered changes are on disk.
    ///
    /// Other members see at once that this device is gone. Without this call, for example when the last reference is released or the
    /// process ends, they see the device for another 10 s as one with a lost connection. Messages in the outbox stay there, and are sent
    /// when rooms are opened on the same store again. If the connection accepts no data, this call waits for it for at most one second.
    ///
    /// It is done to its end, also in a task that is cancelled.
    public func close() async {
        // SAFETY: waits for a second, for the close handshake, which has a deadline, and for the store, which must not be interrupted.
        await Task { [shell, socket, storing] in
            await shell.prepareToClose()
            await socket.close()
            shell.finish(nil)
            await storing.value
        }.value
    }

    /// Runs in the calling task until the rooms are closed for good, and calls ``close()`` when the task is cancelled.
    ///
    /// `WebSocket.run()` says more. This returns when the socket has closed, too.
    ///
    /// - Throws: The error that ended the rooms. It throws nothing if this side closed them, or the hub did with 1000.
    public func run() async throws(RoomsError) {
        guard case .closed(let error) = await states.last() else { return await close() }
        _ = await socket.states.last()
        if let error { throw error }
    }
}

extension Rooms {
    /// The number of entries in memory that readers have not taken yet.
    package func readyEntries(of room: RoomName) -> Int {
        shell.access { view in view.observers[room]?.record.readyEntries ?? 0 }
    }
}

extension Rooms: CustomStringConvertible, CustomReflectable {
    /// The connection state; contains no secrets.
    public var description: String { "rooms, \(state)" }

    /// The state and the socket, so that a dump contains no secrets either.
    public var customMirror: Mirror { Mirror(self, children: ["state": state, "socket": socket]) }
}

/// The state of the connection between ``Rooms`` and their hub.
public enum RoomsState: Sendable {
    /// The store is being opened, or the client is connecting.
    case connecting
    /// The hub has accepted the client as this user.
    case online(UserName)
    /// There is no connection; the client tries again by itself.
    case offline
    /// The rooms are closed for good; the error is nil if the app closed them.
    case closed(RoomsError?)

    /// Whether the hub has accepted the client.
    public var isOnline: Bool { if case .online = self { true } else { false } }
}

/// The options of ``Rooms``; the defaults suit an app.
public struct RoomsOptions: Sendable {
    /// The machine's delays, and the limits of the outbox.
    public var policy = RoomsPolicy()
    /// The timeout of the token provider.
    ///
    /// The hub waits 10 s for the hello, which contains the token.
    public var tokenPatience = Duration.seconds(8)
    /// How long before it expires a token is replaced on the connection.
    public var tokenMargin = Duration.seconds(30)
    /// How long joining and sending wait for the store.
    public var storePatience = Duration.seconds(30)

    /// Creates the default options.
    public init() {}

    /// Prepares the options of a socket for rooms: its subprotocols, and when it reconnects.
    public static func prepare(_ options: inout WebSocketOptions, _ encodings: [RoomsEncoding] = [.protobuf, .json]) {
        options.connection.subprotocols = encodings.map(\.subprotocol)
        // The hello contains the token, which must not go to another origin by a redirect.
        options.connection.redirectsStayInOrigin = true
        // docs/rooms-protocol.md, Errors: the client may return after codes 4001 to 4099; 4000 means another connection of the same
        // device.
        for code in UInt16(4001)...4099 { options.reconnect.losses[.closed(CloseCode(rawValue: code))] = .retry }
    }
}
