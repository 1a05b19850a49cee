/// A change to the client's stored data.
///
/// The store writes a list of changes in one transaction: all of them or none.
public enum StoreChange: Hashable, Sendable {
    /// A new device ID for the store, and the outbox that replaces all existing outbox rows of all rooms.
    ///
    /// The next number of a room is one above its last row, or 1.
    case renew(DeviceID, outbox: [OutboxRow])
    /// A message enters the outbox; the room's next number is one above the message's number.
    case queue(OutboxRow)
    /// An outbox row changes its state.
    case mark(RoomName, cseq: Int64, OutboxRow.State)
    /// An outbox row is deleted.
    case remove(RoomName, cseq: Int64)
    /// Entries follow the cursor; the cursor moves to the last of them.
    case append(RoomName, epoch: UInt64, [Entry])
    /// These entries replace all stored entries; the cursor moves to this position, even if there are no entries.
    case replace(RoomName, cursor: LogPosition, [Entry])
    /// The hub's proof of the entry at the cursor.
    ///
    /// It comes right after the change that moves the cursor. Moving the cursor deletes the previous proof.
    case prove(RoomName, CursorProof)
    /// Older entries go before the first stored entry, which directly follows the last of them.
    case prepend(RoomName, epoch: UInt64, [Entry])
    /// How far the own user has read.
    ///
    /// It never goes back within an epoch. It starts again with a ``replace(_:cursor:_:)`` to another epoch, or to a log that ends
    /// earlier.
    case read(RoomName, upTo: Int64)
    /// All data of the room is deleted, except its outbox and its next message number.
    case forget(RoomName)
}

/// An outbox row: a message that is not known to be stored by the hub.
public struct OutboxRow: Hashable, Sendable {
    /// The state of an outbox row.
    public enum State: Hashable, Sendable {
        /// The client sends the message, repeatedly if needed, until the hub acks it.
        case queued
        /// Refused permanently; the number still has to be voided on the hub.
        case voiding(OutboxFailure)
        /// Refused permanently, and the number is voided; the row stays until the app retries or discards it.
        case failed(OutboxFailure)
    }
    /// The room of the message.
    public var room: RoomName
    /// The message.
    public var publication: Publication
    /// The state of the row.
    public var state: State

    /// Creates an outbox row.
    public init(room: RoomName, publication: Publication, state: State = .queued) {
        (self.room, self.publication, self.state) = (room, publication, state)
    }
}

/// Why a message failed.
public struct OutboxFailure: Hashable, Sendable {
    /// The refusal's code in the protocol; 0: the client gave up.
    public var code: Refusal.Code
    /// A description for people.
    public var text: String

    /// Creates a failure from its code and text.
    public init(code: Refusal.Code, text: String) { (self.code, self.text) = (code, text) }

    /// The hub refused the message because it waited longer than the hub remembers devices.
    public static let expired = OutboxFailure(code: .tooOld, text: "it waited too long to be sent")
    /// The message does not fit into a frame that the hub accepts.
    public static let tooLong = OutboxFailure(code: .size, text: "it is longer than the hub accepts")
    /// The hub has an entry under the message's number but no longer knows which.
    ///
    /// The message may have been stored, so the client does not send it again by itself.
    public static let uncertain = OutboxFailure(code: Refusal.Code(rawValue: 0), text: "it may have been stored; the hub no longer knows")
    /// The app discarded the message before it was stored.
    public static let discarded = OutboxFailure(code: Refusal.Code(rawValue: 0), text: "it was discarded")

    /// Whether the message may be in the log: it failed before the client knew what the hub has under its number.
    var mayBeStored: Bool { [.expired, .tooLong, .discarded].contains(self) }
}

/// The stored state of a room.
public struct StoredRoom: Hashable, Sendable {
    /// The position of the last entry; ``LogPosition/nowhere`` if there is none.
    public var cursor: LogPosition
    /// The number of the first stored entry; `cursor.seq` + 1 if none is stored.
    public var first: Int64
    /// The number that the next message gets.
    public var next: Int64
    /// The messages that are not known to be stored by the hub, by their number.
    public var outbox: [OutboxRow]
    /// How far the own user has read.
    public var read: Int64
    /// The hub's proof of the last entry; nil if there is none.
    public var proof: CursorProof?

    /// Creates the stored state of a room.
    public init(
        cursor: LogPosition = .nowhere, first: Int64 = 1, next: Int64 = 1, outbox: [OutboxRow] = [], read: Int64 = 0,
        proof: CursorProof? = nil
    ) {
        (self.cursor, self.first, self.next) = (cursor, first, next)
        (self.outbox, self.read, self.proof) = (outbox, read, proof)
    }
}
