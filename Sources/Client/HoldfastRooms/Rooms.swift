import Foundation
public import Holdfast
import MachineCore
import HoldfastProtocols
public import RoomCore
import RoomsWire
import WebSocketRuntime

/// Gives the token that says who we are; asked for every connection, and ahead of the token's end.
///
/// It may throw `CredentialUnavailable` to say that asking again cannot help. One that takes longer than ``RoomsOptions/tokenPatience`` is
/// cancelled, and its token is not used.
public typealias TokenProvider = @Sendable () async throws -> String

/// Rooms in which a message arrives once: with an outbox and a history on disk, over a socket that survives.
///
/// ```swift
/// let rooms = Rooms("wss://example.com/", store: try SQLiteRoomStore(path: path)) { try await tokens.fresh() }
/// let room = try await rooms.join("abc")
/// try await room.send(ChatText("hi")).stored()
/// ```
///
/// What is submitted is on disk before it counts, is sent again after every loss, and takes effect once. What is received is stored with the
/// place up to which it was received, so it is there without a connection, and nothing is missed or doubled.
/// A store belongs to one user, and to one object of this kind at a time. It ends with ``close()``, or when the last reference to it is gone.
public final class Rooms: Sendable {
    /// The connection's life: its state, its statistics.
    public let socket: WebSocket
    let shell: RoomsShell
    private let run: Task<Void, Never>
    private let storing: Task<Void, Never>

    /// Starts to connect.
    ///
    /// - Parameters:
    ///   - url: `wss://…`, or `ws://…`.
    ///   - store: Where the outbox and the history are.
    ///   - options: What is to be other than the defaults.
    ///   - token: Gives the token that says who we are; nil: none is needed.
    ///   - configure: Changes what is to be other than the defaults of the socket.
    public convenience init(
        _ url: String, store: some RoomStore, options: RoomsOptions = RoomsOptions(), token: TokenProvider? = nil,
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        let socket = WebSocket(url) { socket in
            RoomsOptions.prepare(&socket)
            configure(&socket)
            // It may have given another configuration.
            socket.connection.redirectsStayInOrigin = true
        }
        self.init(socket: socket, store: store, options: options, token: token)
    }

    /// Carries rooms over a socket that is there already; see ``RoomsOptions/prepare(_:_:)``.
    ///
    /// Nobody else should send over it.
    ///
    /// - Parameters:
    ///   - socket: The socket; it lives at least as long as this.
    ///   - store: Where the outbox and the history are.
    ///   - options: What is to be other than the defaults.
    ///   - clock: What deadlines are measured with.
    ///   - calendar: Milliseconds since 1970 UTC; nil: the system's.
    ///   - seed: Where chance begins; by default another for each.
    ///   - token: Gives the token that says who we are; nil: none is needed.
    public init<C: Clock>(
        socket: WebSocket, store: some RoomStore, options: RoomsOptions = RoomsOptions(), clock: C = ContinuousClock(),
        calendar: (@Sendable () -> Int64)? = nil, seed: UInt64 = .random(in: .min ... .max),
        token: TokenProvider? = nil
    ) where C.Duration == Duration {
        let time = LinkTime(clock)
        let tokens = token.map { TokenSource(within: options.tokenPatience, on: time, secrets: socket.secrets, $0) }
        let context = RoomsContext(
            store: store, options: options, tokens: tokens, calendar: calendar ?? { Date.milliseconds }, secrets: socket.secrets)
        let machine = RoomsMachine(policy: context.policy, seed: seed)
        let shell = RoomsShell(machine, RoomsView(), context, over: socket, time: time)
        shell.command(.calendar(context.calendar()))
        (self.socket, self.shell) = (socket, shell)
        let events = socket.events
        // SAFETY: owned by this object and cancelled with it.
        run = Task {
            async let _ = shell.followCalendar()
            await shell.follow(events)
        }
        // SAFETY: ends when the shell is finished and what was ordered until then is written: a transaction is not to be cancelled.
        storing = Task { await shell.serveStore() }
    }

    deinit {
        run.cancel()
        // The tasks may hold the shell for a moment longer.
        shell.finish(nil)
    }

    /// How it stands with the hub.
    public var state: RoomsState { shell.access { view in view.state } }

    /// How it stands with the hub, the present state first; ends with ``RoomsState/closed(_:)``.
    ///
    /// Whoever is slow misses states in between, never the last.
    public var states: StateSequence<RoomsState> {
        StateSequence(shell.changes) { [self] in
            let (version, state) = (shell.changes.version, state)
            return if case .closed = state { (state, version, true) } else { (state, version, false) }
        }
    }

    /// Who we are, as the hub has said; nil before it has.
    public var user: UserName? { shell.access { view in view.user } }

    /// The incarnation of the store; nil before it is opened.
    public var device: DeviceID? { shell.access { view in view.device } }

    /// What may be sent, as the hub has said.
    public var limits: RoomsLimits { shell.access { view in view.limits } }

    /// Joins a room, now and after every loss; returns when what is stored of it can be read, with or without a connection.
    ///
    /// - Parameters:
    ///   - name: 1 to 128 bytes of UTF-8 without control characters.
    ///   - start: Where to begin, if nothing is stored.
    ///   - limit: How many missed entries to fetch one by one, before a snapshot is better; 0: as many as there are.
    ///   - presence: How to be seen; nil: neither be seen nor see others.
    public func join(
        _ name: String, from start: RoomStart = .last, limit: Int = 10_000, presence: Presence? = Presence()
    ) async throws(RoomsError) -> Room {
        guard let room = RoomName(name) else { throw .badName(name) }
        let wish = JoinWish(
            start: start.wish, limit: Int64(clamping: limit), wantsPresence: presence != nil, presence: presence ?? Presence())
        try await shell.join(room, wish)
        return Room(name: room, rooms: self)
    }

    /// The rooms of which something is stored, or whose outbox holds something, with what is unread; to be read without a connection.
    public func storedRooms() async throws(RoomsError) -> [StoredRoomSummary] {
        try await shell.reading { try await shell.context.store.rooms() }
    }

    /// Sends a failed message after all.
    ///
    /// ``Receipt/retry()`` does the same. It waits as ``DeliveryStage/submitted`` until it is in the outbox anew.
    ///
    /// - Throws: ``RoomsError/unknownMessage(_:)`` if it is not in the outbox of a joined room, or has not failed.
    public func retry(_ message: MessageID) throws(RoomsError) { try shell.retry(message) }

    /// Takes a message out of the outbox.
    ///
    /// One that may be on its way cannot be called back: it is stored, or the hub is told never to store it.
    ///
    /// - Throws: ``RoomsError/unknownMessage(_:)`` if it is not in the outbox of a joined room.
    public func discard(_ message: MessageID) throws(RoomsError) { try shell.discard(message) }

    /// Waits until the hub knows us.
    ///
    /// - Parameter patience: How long to wait; nil: as long as it takes.
    public func whenOnline(within patience: Duration? = nil) async throws(RoomsError) {
        try await shell.wait(for: "the connection", on: shell.changes, within: patience) { () throws(RoomsError) -> Void? in
            switch state {
            case .online: return ()
            case .closed(let error): throw error ?? .closed
            case .connecting, .offline: return nil
            }
        }
    }

    /// Leaves all rooms, closes the socket for good, and returns when all that was ordered is on disk.
    ///
    /// Who is present in the rooms sees at once that this device is gone. Without this call, as when the last reference goes or the
    /// process ends, it is shown for another 10 s, as one whose connection is lost. What is in the outbox stays there, and is sent when
    /// rooms are opened on the same store again. A connection that takes nothing is waited for a second at most.
    public func close() async {
        await shell.sayFarewell()
        await socket.close()
        shell.finish(nil)
        await storing.value
    }
}

extension Rooms {
    /// How many entries are in memory for readers that have not taken them.
    package func readyEntries(of room: RoomName) -> Int {
        shell.access { view in view.books[room]?.record.readyEntries ?? 0 }
    }
}

extension Rooms: CustomStringConvertible, CustomReflectable {
    /// How they stand with the hub; holds no secrets.
    public var description: String { "rooms, \(state)" }

    /// Their state: a dump tells no secret either.
    public var customMirror: Mirror { Mirror(self, children: ["state": state, "socket": socket]) }
}

extension Date {
    /// Milliseconds since 1970 UTC.
    static var milliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
