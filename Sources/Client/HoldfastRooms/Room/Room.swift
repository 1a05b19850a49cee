import Holdfast
import WebSocketRuntime
import HoldfastProtocols
public import RoomCore

/// A room that was joined; see ``Rooms/join(_:from:limit:presence:)``.
///
/// All of it works without a connection as far as it can: what is stored can be read, what is sent waits in the outbox.
public final class Room: Sendable {
    /// Its name.
    public let name: RoomName
    /// Where it was joined.
    public let rooms: Rooms
    var shell: RoomsShell { rooms.shell }

    init(name: RoomName, rooms: Rooms) { (self.name, self.rooms) = (name, rooms) }

    // MARK: - Reading

    /// All entries: those that are stored, then those that come.
    public var messages: RoomMessages { RoomMessages(room: self, position: nil) }

    /// The entries after a place that the app has seen before.
    ///
    /// If what is stored does not join it, the first update is ``RoomUpdate/replaced(_:)``.
    public func messages(after position: LogPosition) -> RoomMessages { RoomMessages(room: self, position: position) }

    /// Entries before a number, in order: from the store, and where that ends from the hub.
    ///
    /// - Parameters:
    ///   - seq: The number; nil: after the last that is stored.
    ///   - limit: How many at most.
    ///   - patience: How long to wait for the hub.
    public func earlier(
        than seq: Int64? = nil, limit: Int = 50, within patience: Duration = .seconds(15)
    ) async throws(RoomsError) -> RoomPage {
        try await shell.earlier(name, before: seq ?? status.cursor.seq + 1, limit: max(1, min(limit, 500)), within: patience)
    }

    /// How many messages of others are stored after the own read marker; edits, deletions and reactions are none.
    public func unread() async throws(RoomsError) -> Int { try await shell.unread(name) }

    // MARK: - Sending

    /// Sends a message; returns when it is in the outbox, on disk.
    ///
    /// The receipt tells what becomes of it. From here on it will be stored by the hub, once, whatever happens to the connection and the
    /// app; or the receipt says why not.
    ///
    /// - Parameters:
    ///   - content: What it says.
    ///   - reference: The message that it is about, for kinds of the app's own.
    ///   - id: The app's own name for it, a UUID used for one message; nil: one is drawn.
    /// - Throws: ``RoomsError/notQueued(_:)`` if it was not taken, also because the rooms were closed before it was written: then it does
    ///   not exist. After ``RoomsError/cancelled`` and ``RoomsError/timedOut(_:cause:)`` it may be in the outbox, or may be soon: send it again
    ///   under the same `id`, and it is the same message as long as it waits; see ``outbox``. After anything else it does not exist.
    @discardableResult
    public func send(
        _ content: some RoomContent, about reference: Reference? = nil, id: MessageID? = nil
    ) async throws(RoomsError) -> Receipt {
        try await shell.submit(name, try content.publication(about: reference), id: id)
    }

    /// Sends a payload of the app's own making; see ``send(_:about:id:)``.
    @discardableResult
    public func send(
        _ type: String, _ payload: Payload, about reference: Reference? = nil, id: MessageID? = nil
    ) async throws(RoomsError) -> Receipt {
        try await shell.submit(name, Publication.Content(type: type, about: reference, payload: payload), id: id)
    }

    /// Replaces what a message says; readers honour it from its author and from those who may moderate.
    @discardableResult
    public func edit(_ seq: Int64, to content: some RoomContent) async throws(RoomsError) -> Receipt {
        try await shell.submit(name, try content.publication(about: Reference(kind: "edit", seq: seq), as: "holdfast.edit"))
    }

    /// Deletes a message for all who read; readers honour it from its author and from those who may moderate.
    @discardableResult
    public func delete(_ seq: Int64) async throws(RoomsError) -> Receipt {
        try await send("holdfast.delete", .json(Array("{}".utf8)), about: Reference(kind: "delete", seq: seq))
    }

    /// Sets a reaction to a message, or takes it back.
    @discardableResult
    public func react(to seq: Int64, _ key: String, on isOn: Bool = true) async throws(RoomsError) -> Receipt {
        try await send(ReactionContent(key: key, on: isOn), about: Reference(kind: "react", seq: seq))
    }

    /// What was submitted and is not among the entries yet, in order; also what has failed.
    public var outbox: [PendingMessage] { status.outbox }

    /// The receipt of a message that is in the outbox, or whose receipt somebody holds; nil if there is none.
    public func receipt(for message: MessageID) -> Receipt? { shell.receipt(name, message) }

    // MARK: - People

    /// Who is present.
    public var members: [RoomMember] { status.members }

    /// Who types; not the own user.
    public var typing: [UserName] { status.typing }

    /// Says that the user types, or has stopped; as often as keys are pressed, for what is sent is throttled.
    public func setTyping(_ isTyping: Bool = true) { shell.command(.typing(name, isTyping)) }

    /// Says how the user wants to be seen.
    public func setPresence(_ presence: Presence) { shell.command(.presence(name, presence)) }

    /// Says that the user has read up to a message; a marker never goes back.
    public func readUpTo(_ seq: Int64) {
        shell.read(name, upTo: seq)
    }

    /// Sends something that nobody stores, such as a cursor; lost if the room is not live, or if the connection does not keep up.
    public func signal(_ signal: Signal) { shell.command(.signal(name, signal)) }

    /// What others signal from now on.
    ///
    /// Of those that nobody has taken the last 64 are kept.
    public var signals: AsyncStream<ReceivedSignal> { shell.signals(name) }

    // MARK: - Status

    /// All that is known now, but for the entries.
    public var status: RoomStatus { shell.access { view in view.status(of: name) } }

    /// All that is known, now and after every change; whoever is slow misses some in between, never the last.
    public var statuses: RoomStatuses { RoomStatuses(room: self) }

    /// Where it stands.
    public var phase: RoomPhase { status.phase }

    /// Waits until all that is in the log is here.
    ///
    /// - Parameter patience: How long to wait; nil: as long as it takes.
    public func whenLive(within patience: Duration? = nil) async throws(RoomsError) {
        let changes = shell.access { view in view.books[name]?.changes }
        guard let changes else { throw .left }
        try await shell.wait(for: "joining the room", on: changes, within: patience) { () throws(RoomsError) -> Void? in
            switch phase {
            case .live: return ()
            case .refused(let refusal) where refusal.retry == .never: throw .refused(refusal)
            case .left: throw .left
            case .loading, .waiting, .catchingUp, .refused: break
            }
            if let ending = shell.ending { throw ending }
            return nil
        }
    }

    /// Leaves; what is in the outbox is sent when it is joined again.
    public func leave() { shell.leave(name) }
}

/// Entries from before.
public struct RoomPage: Hashable, Sendable {
    /// In order.
    public var entries: [Entry]
    /// Whether nothing older is retained.
    public var reachedBeginning: Bool

    /// A page.
    public init(entries: [Entry], reachedBeginning: Bool) { (self.entries, self.reachedBeginning) = (entries, reachedBeginning) }
}

/// A signal, and whose it is.
public struct ReceivedSignal: Hashable, Sendable {
    /// Who sent it.
    public var user: UserName
    /// From which connection.
    public var connection: String
    /// What it says.
    public var signal: Signal

    /// A signal.
    public init(user: UserName, connection: String, signal: Signal) {
        (self.user, self.connection, self.signal) = (user, connection, signal)
    }
}

/// What is known of a room; see ``Room/statuses``.
public struct RoomStatuses: AsyncSequence, Sendable {
    /// All that is known.
    public typealias Element = RoomStatus
    /// The sequence never fails.
    public typealias Failure = Never
    let room: Room

    /// Starts with what is known now.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(room: room) }

    /// Takes one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let room: Room
        private var last: RoomStatus?
        private var isOver = false

        init(room: Room) { self.room = room }

        /// Waits for a change; nil after the last, or when the task is cancelled.
        public mutating func next() async -> RoomStatus? { await next(isolation: nil) }

        /// Waits for a change; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> RoomStatus? {
            guard let changes = room.shell.access({ view in view.books[room.name]?.changes }) else { return nil }
            while !isOver, !Task.isCancelled {
                let version = changes.version
                isOver = room.shell.ending != nil
                let status = room.status
                if status != last {
                    last = status
                    return status
                }
                if !isOver { await changes.next(after: version) }
            }
            return nil
        }
    }
}
