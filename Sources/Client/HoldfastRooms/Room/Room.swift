import Holdfast
import HoldfastProtocols
public import RoomCore
import WebSocketRuntime

/// A joined room; see ``Rooms/join(_:from:limit:presence:)``.
///
/// A room also works without a connection: stored entries can be read, and sent messages wait in the outbox.
public final class Room: Sendable {
    /// The room's name.
    public let name: RoomName
    /// The ``Rooms`` object through which the room was joined.
    public let rooms: Rooms
    var shell: RoomsShell { rooms.shell }

    init(name: RoomName, rooms: Rooms) { (self.name, self.rooms) = (name, rooms) }

    // MARK: - Reading

    /// All entries: first those that are stored, then new ones as they arrive.
    public var messages: RoomMessages { RoomMessages(room: self, position: nil) }

    /// The entries after a position that the app has already seen.
    ///
    /// If the stored entries do not continue from that position, the first update is ``RoomUpdate/replaced(_:)``.
    public func messages(after position: LogPosition) -> RoomMessages { RoomMessages(room: self, position: position) }

    /// Returns entries before a sequence number, in order: from the store, or from the hub if the store has none.
    ///
    /// - Parameters:
    ///   - seq: The sequence number; nil starts after the last stored entry.
    ///   - limit: The maximum number of entries, 1 to 500.
    ///   - patience: How long to wait for the hub.
    public func earlier(
        than seq: Int64? = nil, limit: Int = 50, within patience: Duration = .seconds(15)
    ) async throws(RoomsError) -> RoomPage {
        try await shell.earlier(name, before: seq ?? status.cursor.seq + 1, limit: max(1, min(limit, 500)), within: patience)
    }

    /// Returns the number of stored messages of others after the own read marker; edits, deletions and reactions do not count.
    public func unread() async throws(RoomsError) -> Int { try await shell.unread(name) }

    // MARK: - Sending

    /// Sends a message; returns when it is in the outbox, on disk.
    ///
    /// The receipt reports the delivery. From then on, the hub stores the message exactly once, whatever happens to the connection and
    /// the app, or the receipt reports why not.
    ///
    /// - Parameters:
    ///   - content: The content of the message.
    ///   - reference: The message that this one refers to, for reference kinds of the app's own.
    ///   - id: The app's own ID for the message, a UUID used for one message only; nil generates one.
    /// - Throws: ``RoomsError/notQueued(_:)`` if the outbox did not accept the message, also if the rooms were closed before it was
    ///   written: then the message does not exist. After ``RoomsError/cancelled`` and ``RoomsError/timedOut(_:cause:)`` the message may
    ///   be in the outbox, or may enter it soon. Send it again with the same `id`: while it waits in the outbox, it is the same message;
    ///   see ``outbox``. After any other error the message does not exist.
    @discardableResult
    public func send(
        _ content: some RoomContent, about reference: Reference? = nil, id: MessageID? = nil
    ) async throws(RoomsError) -> Receipt {
        try await shell.submit(name, try content.publication(about: reference), id: id)
    }

    /// Sends a payload that the app has encoded itself; see ``send(_:about:id:)``.
    @discardableResult
    public func send(
        _ type: String, _ payload: Payload, about reference: Reference? = nil, id: MessageID? = nil
    ) async throws(RoomsError) -> Receipt {
        try await shell.submit(name, Publication.Content(type: type, about: reference, payload: payload), id: id)
    }

    /// Replaces the content of a message; readers accept this from the author and from moderators.
    @discardableResult
    public func edit(_ seq: Int64, to content: some RoomContent) async throws(RoomsError) -> Receipt {
        try await shell.submit(name, try content.publication(about: Reference(kind: "edit", seq: seq), as: "holdfast.edit"))
    }

    /// Deletes a message for all readers; readers accept this from the author and from moderators.
    @discardableResult
    public func delete(_ seq: Int64) async throws(RoomsError) -> Receipt {
        try await send("holdfast.delete", .json(Array("{}".utf8)), about: Reference(kind: "delete", seq: seq))
    }

    /// Sets or removes a reaction to a message.
    @discardableResult
    public func react(to seq: Int64, _ key: String, on isOn: Bool = true) async throws(RoomsError) -> Receipt {
        try await send(ReactionContent(key: key, on: isOn), about: Reference(kind: "react", seq: seq))
    }

    /// The messages that were submitted and are not among the entries yet, in order, including failed ones.
    public var outbox: [PendingMessage] { status.outbox }

    /// Returns the receipt of a message that is in the outbox, or that already has a receipt; nil if there is no such message.
    public func receipt(for message: MessageID) -> Receipt? { shell.receipt(name, message) }

    // MARK: - People

    /// The members who are present.
    public var members: [RoomMember] { status.members }

    /// The users who are typing, without the own user.
    public var typing: [UserName] { status.typing }

    /// Tells others that the user is typing or has stopped; call it on every key press, as the client limits what it sends.
    public func setTyping(_ isTyping: Bool = true) { shell.command(.typing(name, isTyping)) }

    /// Sets the user's presence in the room.
    public func setPresence(_ presence: Presence) { shell.command(.presence(name, presence)) }

    /// Marks all messages up to a sequence number as read; a read marker never moves back.
    public func readUpTo(_ seq: Int64) {
        shell.read(name, upTo: seq)
    }

    /// Sends a signal, which is not stored, such as a cursor position; it is lost if the room is not live or the connection is too slow.
    public func signal(_ signal: Signal) { shell.command(.signal(name, signal)) }

    /// The signals that others send from now on.
    ///
    /// The stream buffers the newest 64 signals that were not read yet.
    public var signals: AsyncStream<ReceivedSignal> { shell.signals(name) }

    // MARK: - Status

    /// The current status of the room, without its entries.
    public var status: RoomStatus { shell.access { view in view.status(of: name) } }

    /// The status now and after every change; a slow reader misses states in between, but never the last one.
    public var statuses: RoomStatuses { RoomStatuses(room: self) }

    /// The current phase of the room.
    public var phase: RoomPhase { status.phase }

    /// Waits until the room is live: all entries of the log have arrived.
    ///
    /// - Parameter patience: How long to wait; nil waits without a limit.
    public func whenLive(within patience: Duration? = nil) async throws(RoomsError) {
        let changes = shell.access { view in view.observers[name]?.changes }
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

    /// Leaves the room; messages in the outbox are sent when the room is joined again.
    public func leave() { shell.leave(name) }
}

/// A page of older entries.
public struct RoomPage: Hashable, Sendable {
    /// The entries, in order.
    public var entries: [Entry]
    /// Whether no older entries are retained.
    public var reachedBeginning: Bool

    /// Creates a page.
    public init(entries: [Entry], reachedBeginning: Bool) { (self.entries, self.reachedBeginning) = (entries, reachedBeginning) }
}

/// A received signal and its sender.
public struct ReceivedSignal: Hashable, Sendable {
    /// The user who sent it.
    public var user: UserName
    /// The connection that sent it.
    public var connection: String
    /// The signal.
    public var signal: Signal

    /// Creates a received signal.
    public init(user: UserName, connection: String, signal: Signal) {
        (self.user, self.connection, self.signal) = (user, connection, signal)
    }
}

/// The status of a room over time; see ``Room/statuses``.
public struct RoomStatuses: AsyncSequence, Sendable {
    /// The room's status.
    public typealias Element = RoomStatus
    /// The sequence never fails.
    public typealias Failure = Never
    let room: Room

    /// Creates an iterator that starts with the current status.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(room: room) }

    /// Iterates over the statuses.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let room: Room
        private var last: RoomStatus?
        private var isOver = false

        init(room: Room) { self.room = room }

        /// Waits for a change; returns nil after the last one, or when the task is cancelled.
        public mutating func next() async -> RoomStatus? { await next(isolation: nil) }

        /// Waits for a change; returns nil after the last one, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> RoomStatus? {
            guard let changes = room.shell.access({ view in view.observers[room.name]?.changes }) else { return nil }
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

/// Where a room begins if nothing of it is stored.
///
/// If entries are stored, the room continues from there, whatever this value says.
public enum RoomStart: Hashable, Sendable {
    /// Only new entries.
    case now
    /// The given number of last entries.
    case last(Int)
    /// All entries that the hub retains, as far as the store keeps them: see ``RoomStore/entriesPerRoom``.
    case beginning

    /// The last 50 entries.
    public static let last = RoomStart.last(50)

    var joinStart: JoinRequest.Start {
        switch self {
        case .now: .now
        case .last(let count): .last(Int64(clamping: max(count, 0)))
        case .beginning: .beginning
        }
    }
}

/// The entries of a room: first those that are stored, then new ones as they arrive; see ``Room/messages``.
///
/// The sequence has no gap and no repeat, neither between stored and new entries nor across a lost connection. A slow reader does not
/// block others and needs no memory: it reads from the store.
///
/// The sequence ends when the room is left or the rooms are closed. It throws if the hub refuses the client, or if the store or the
/// connection fails for good.
public struct RoomMessages: AsyncSequence, Sendable {
    /// An entry, or a notice that the log was replaced.
    public typealias Element = RoomUpdate
    /// Why it ends.
    public typealias Failure = RoomsError
    let room: Room
    let position: LogPosition?

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: RoomReader(room, after: position)) }

    /// Iterates over the updates.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// Why it ends.
        public typealias Failure = RoomsError
        let reader: RoomReader

        /// Waits for the next update; returns nil at the end, or when the task is cancelled.
        public mutating func next() async throws(RoomsError) -> RoomUpdate? { try await reader.next() }

        /// Waits for the next update; returns nil at the end, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RoomsError) -> RoomUpdate? {
            try await reader.next()
        }
    }
}

/// One reader of a room; it is removed from the room when the last iterator is released.
final class RoomReader: Sendable {
    let room: Room
    private let number: UInt64
    private let changes: Changes

    init(_ room: Room, after position: LogPosition?) {
        self.room = room
        number = room.shell.addReader(room.name, after: position)
        changes = room.shell.access { view in view.observers[room.name]?.changes } ?? Changes()
    }

    deinit { room.shell.removeReader(room.name, number) }

    func next() async throws(RoomsError) -> RoomUpdate? {
        while !Task.isCancelled {
            let version = changes.version
            do throws(RoomsError) {
                switch try room.shell.step(room.name, number) {
                case .update(let update): return update
                case .read(let position, let generation):
                    if let update = try await room.shell.fill(room.name, number, after: position, generation: generation) { return update }
                case .wait: await changes.next(after: version)
                }
            } catch {
                switch error {
                case .closed, .left, .cancelled: return nil
                default: throw error
                }
            }
        }
        return nil
    }
}
