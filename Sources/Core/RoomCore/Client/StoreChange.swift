/// One change of what a client has stored.
///
/// A list of them is written in one transaction, or not at all.
public enum StoreChange: Hashable, Sendable {
    /// A new incarnation of the store: the device, and the outbox that replaces all there was, in all rooms.
    ///
    /// The next number of a room is one above its last row, or 1.
    case renew(DeviceID, outbox: [OutboxRow])
    /// A message enters the outbox; the next number of its room is one above its own.
    case queue(OutboxRow)
    /// A row of the outbox changes its state.
    case mark(RoomName, cseq: Int64, OutboxRow.State)
    /// A row leaves the outbox.
    case remove(RoomName, cseq: Int64)
    /// Entries follow the cursor; the cursor is the last of them.
    case append(RoomName, epoch: UInt64, [Entry])
    /// These entries replace all there were; the cursor is this, whether or not there are entries.
    case replace(RoomName, cursor: LogPosition, [Entry])
    /// The hub's proof of the entry at the cursor; it comes right after the change that moves the cursor, which drops the one before.
    case prove(RoomName, CursorProof)
    /// Older entries come before the first stored one, which follows the last of them.
    case prepend(RoomName, epoch: UInt64, [Entry])
    /// How far the own user has read; it never goes back within an epoch, and begins anew with ``replace(_:cursor:_:)`` of another,
    /// or of one that ends earlier.
    case read(RoomName, upTo: Int64)
    /// Nothing of the room is wanted any more, but for its outbox and its next number.
    case forget(RoomName)
}

/// A message that is not known to be stored by the hub.
public struct OutboxRow: Hashable, Sendable {
    /// What has become of it so far.
    public enum State: Hashable, Sendable {
        /// It is to be sent, again and again, until it is acked.
        case queued
        /// Refused for good; its number is still to be burnt on the hub.
        case burning(OutboxFailure)
        /// Refused for good, and its number was burnt; it stands here until the app retries or discards it.
        case failed(OutboxFailure)
    }
    /// Where it goes.
    public var room: RoomName
    /// The message.
    public var publication: Publication
    /// What has become of it so far.
    public var state: State

    /// A row of the outbox.
    public init(room: RoomName, publication: Publication, state: State = .queued) {
        (self.room, self.publication, self.state) = (room, publication, state)
    }
}

/// Why a message will not be sent.
public struct OutboxFailure: Hashable, Sendable {
    /// The refusal's number in the protocol; 0: it was given up here.
    public var code: Refusal.Code
    /// For people.
    public var text: String

    /// Why a message will not be sent.
    public init(code: Refusal.Code, text: String) { (self.code, self.text) = (code, text) }

    /// It waited longer than the hub remembers, says the hub.
    public static let expired = OutboxFailure(code: .tooOld, text: "it waited too long to be sent")
    /// No frame that the hub takes holds it.
    public static let tooLong = OutboxFailure(code: .size, text: "it is longer than the hub takes")
    /// The hub has something under its number, and no longer knows what: it may have been stored, so it is not sent again by itself.
    public static let uncertain = OutboxFailure(code: Refusal.Code(rawValue: 0), text: "it may have been stored; the hub no longer knows")
    /// The app discarded it before it was stored.
    public static let discarded = OutboxFailure(code: Refusal.Code(rawValue: 0), text: "it was discarded")

    /// Whether the message may be in the log all the same: it was given up without a look at what the hub has under its number.
    var mayBeStored: Bool { [.expired, .tooLong, .discarded].contains(self) }
}

/// What a client has stored of a room.
public struct StoredRoom: Hashable, Sendable {
    /// The last entry; ``LogPosition/nowhere`` if none.
    public var cursor: LogPosition
    /// The number of the first stored entry; `cursor.seq` + 1 if none is.
    public var first: Int64
    /// The number that the next message gets.
    public var next: Int64
    /// What is not known to be stored by the hub, by its number.
    public var outbox: [OutboxRow]
    /// How far the own user has read.
    public var read: Int64
    /// The hub's proof of the last entry; nil if there is none.
    public var proof: CursorProof?

    /// What a client has stored of a room.
    public init(
        cursor: LogPosition = .nowhere, first: Int64 = 1, next: Int64 = 1, outbox: [OutboxRow] = [], read: Int64 = 0,
        proof: CursorProof? = nil
    ) {
        (self.cursor, self.first, self.next) = (cursor, first, next)
        (self.outbox, self.read, self.proof) = (outbox, read, proof)
    }
}
