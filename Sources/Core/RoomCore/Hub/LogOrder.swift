/// An order from a hub to the log of its rooms.
///
/// Orders that write to one room are executed in sequence. An order that only reads sees all writes that were answered before it was
/// given. Each order is answered once, except ``mark(_:_:upTo:)`` and ``release(_:)``.
package enum LogOrder: Hashable, Sendable {
    /// Opens a room, and creates it if needed: ``LogReply/opened(_:_:)`` or ``LogReply/notOpened(_:)``.
    case open(RoomName)
    /// Gives an open room a new epoch, on disk before the answer; the answer is that of ``open(_:)``.
    case renew(RoomName)
    /// Asks what the log knows about a device in a room: ``LogReply/recalled(_:_:_:)`` or ``LogReply/notRecalled(_:_:)``.
    ///
    /// A mark with the number 0 only names the owner of the device, by its publications in other rooms.
    case recall(RoomName, DeviceID)
    /// Appends all records or none, on disk before the answer: ``LogReply/appended(_:batch:)`` or ``LogReply/notAppended(_:batch:)``.
    case append(RoomName, batch: Int64, [LogRecord])
    /// Reads the entries after a number: ``LogReply/fetched(_:_:base:below:)`` or ``LogReply/notFetched(_:isDamaged:)``.
    case fetchAfter(Int64, RoomName, seq: Int64, limit: Int64, bytes: Int64)
    /// Reads the last entries below a number, in order: ``LogReply/fetched(_:_:base:below:)`` or ``LogReply/notFetched(_:isDamaged:)``.
    case fetchBefore(Int64, RoomName, seq: Int64, limit: Int64, bytes: Int64)
    /// Finds the entry under a device's number: ``LogReply/found(_:_:)`` or ``LogReply/notFetched(_:isDamaged:)``.
    ///
    /// The result is nil if retention has deleted the entry.
    case find(Int64, RoomName, DeviceID, cseq: Int64)
    /// Stores how far a user has read; it never goes back.
    case mark(RoomName, UserName, upTo: Int64)
    /// Closes a room that is no longer used.
    case release(RoomName)
}

/// A reply of the log.
package enum LogReply: Hashable, Sendable {
    case opened(RoomName, LogHead)
    case notOpened(RoomName)
    case recalled(RoomName, DeviceID, DeviceMark?)
    case notRecalled(RoomName, DeviceID)
    case appended(RoomName, batch: Int64)
    /// It is unknown whether the batch is on disk: the room must be opened again before the next append.
    case notAppended(RoomName, batch: Int64)
    /// The entries, and the stamp of the entry below `base` if it is known.
    case fetched(Int64, [Entry], base: Int64, below: EntryStamp? = nil)
    /// The read failed; if nothing is damaged, a later attempt may succeed.
    case notFetched(Int64, isDamaged: Bool = false)
    case found(Int64, FoundEntry?)
    /// Retention has deleted entries: the first number that is left, and the stamp of the last deleted entry if it is known.
    case trimmed(RoomName, base: Int64, below: EntryStamp? = nil)
    /// The log's time in milliseconds since 1970 UTC, by which it forgets devices; sent first of all, and from time to time.
    case time(Int64)
    /// The number of bytes of a room's entries, after some were deleted.
    case weighed(RoomName, bytes: Int64)
}

/// The fields of a stored entry that an ack contains.
package struct FoundEntry: Hashable, Sendable {
    package var seq: Int64
    package var at: Int64
    package var id: MessageID

    package init(seq: Int64, at: Int64, id: MessageID) { (self.seq, self.at, self.id) = (seq, at, id) }

    package init(_ entry: Entry) { self.init(seq: entry.seq, at: entry.at, id: entry.id) }
}

/// A record that is appended to a log.
package enum LogRecord: Hashable, Sendable {
    /// A message; the device's mark rises to its number.
    case entry(Entry)
    /// A voided number: only the device's mark rises.
    case void(DeviceID, UserName, cseq: Int64, id: MessageID, at: Int64)
}

/// The state of a log when it is opened.
package struct LogHead: Hashable, Sendable {
    /// The epoch of the log; never 0.
    package var epoch: UInt64
    /// The last number; 0: none yet.
    package var head: Int64
    /// The first number that is retained; head + 1 if none is.
    package var base: Int64
    /// How far the users have read.
    package var reads: [HubFrame.ReadMarker]
    /// When the last entry was stored, in milliseconds since 1970 UTC; 0 if none is retained.
    package var last: Int64
    /// The number of bytes of the retained entries.
    package var bytes: Int64
    /// The stamp of the last entry, even if retention has deleted it; nil if there was none, or it is not known.
    package var lastStamp: EntryStamp?
    /// The stamp of the entry below ``base``.
    package var below: EntryStamp?

    package init(
        epoch: UInt64, head: Int64, base: Int64, reads: [HubFrame.ReadMarker], last: Int64 = 0, bytes: Int64 = 0,
        lastStamp: EntryStamp? = nil, below: EntryStamp? = nil
    ) {
        (self.epoch, self.head, self.base, self.reads) = (epoch, head, base, reads)
        (self.last, self.bytes, self.lastStamp, self.below) = (last, bytes, lastStamp, below)
    }
}

/// What a log knows about a device in a room.
package struct DeviceMark: Hashable, Sendable {
    /// The greatest number of a publication; 0: none in this room.
    package var high: Int64
    /// The ID of that publication.
    package var id: MessageID
    /// The owner of the device.
    package var user: UserName
    /// When the device last published, in milliseconds since 1970 UTC.
    package var at: Int64

    package init(high: Int64, id: MessageID, user: UserName, at: Int64) {
        (self.high, self.id, self.user, self.at) = (high, id, user, at)
    }
}
