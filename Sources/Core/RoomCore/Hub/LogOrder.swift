/// What a hub asks of the log of its rooms.
///
/// The orders that write to one room are carried out in order; one that only reads sees what was answered before it was given. Each but
/// ``mark(_:_:upTo:)`` and ``release(_:)`` is answered once.
package enum LogOrder: Hashable, Sendable {
    /// Opens a room, which is made if there is none: ``LogReply/opened(_:_:)`` or ``LogReply/notOpened(_:)``.
    case open(RoomName)
    /// Gives an open room another epoch, on disk before the answer, which is that of ``open(_:)``.
    case renew(RoomName)
    /// What is known of a device in a room: ``LogReply/recalled(_:_:_:)`` or ``LogReply/notRecalled(_:_:)``.
    ///
    /// A mark of the number 0 says only whose the device is, by what it has published in other rooms.
    case recall(RoomName, DeviceID)
    /// Appends records, all or none, on disk before the answer: ``LogReply/appended(_:batch:)`` or ``LogReply/notAppended(_:batch:)``.
    case append(RoomName, batch: Int64, [LogRecord])
    /// The entries after a number: ``LogReply/fetched(_:_:base:below:)`` or ``LogReply/notFetched(_:isDamaged:)``.
    case fetchAfter(Int64, RoomName, seq: Int64, limit: Int64, bytes: Int64)
    /// The last entries below a number, in order: ``LogReply/fetched(_:_:base:below:)`` or ``LogReply/notFetched(_:isDamaged:)``.
    case fetchBefore(Int64, RoomName, seq: Int64, limit: Int64, bytes: Int64)
    /// What is stored under a device's number: ``LogReply/found(_:_:)``, nil if retention has passed it, or
    /// ``LogReply/notFetched(_:isDamaged:)``.
    case find(Int64, RoomName, DeviceID, cseq: Int64)
    /// How far a user has read; it never goes back.
    case mark(RoomName, UserName, upTo: Int64)
    /// Nobody is in the room any more.
    case release(RoomName)
}

/// What the log answers.
package enum LogReply: Hashable, Sendable {
    case opened(RoomName, LogHead)
    case notOpened(RoomName)
    case recalled(RoomName, DeviceID, DeviceMark?)
    case notRecalled(RoomName, DeviceID)
    case appended(RoomName, batch: Int64)
    /// Nobody knows whether it is on disk: the room must be opened again before anything is appended.
    case notAppended(RoomName, batch: Int64)
    /// With what the entry below `base` was, if that is known.
    case fetched(Int64, [Entry], base: Int64, below: EntryStamp? = nil)
    /// Whether something in it is damaged; otherwise it may be read when it is asked for again.
    case notFetched(Int64, isDamaged: Bool = false)
    case found(Int64, FoundEntry?)
    /// Retention has taken entries away: the first that is left, and what the last of them was, if that is known.
    case trimmed(RoomName, base: Int64, below: EntryStamp? = nil)
    /// The log's time, by which it forgets devices, in milliseconds since 1970 UTC; first of all, and from time to time.
    case time(Int64)
    /// How many bytes of entries a room has, after some were taken away.
    case weighed(RoomName, bytes: Int64)
}

/// What an ack says of an entry that was stored before.
package struct FoundEntry: Hashable, Sendable {
    package var seq: Int64
    package var at: Int64
    package var id: MessageID

    package init(seq: Int64, at: Int64, id: MessageID) { (self.seq, self.at, self.id) = (seq, at, id) }

    package init(_ entry: Entry) { self.init(seq: entry.seq, at: entry.at, id: entry.id) }
}

/// What goes into a log.
package enum LogRecord: Hashable, Sendable {
    /// A message; its device's mark rises to it.
    case entry(Entry)
    /// A burnt number: only the device's mark rises.
    case void(DeviceID, UserName, cseq: Int64, id: MessageID, at: Int64)
}

/// A log as it is opened.
package struct LogHead: Hashable, Sendable {
    /// Its incarnation; never 0.
    package var epoch: UInt64
    /// The last number; 0: none yet.
    package var head: Int64
    /// The first number that is retained; head + 1 if none is.
    package var base: Int64
    /// How far the users have read.
    package var reads: [HubFrame.ReadMarker]
    /// When its last entry was stored, in milliseconds since 1970 UTC; 0 if none is retained.
    package var last: Int64
    /// Bytes of the entries that are retained.
    package var bytes: Int64
    /// What its last entry was, even if retention has taken it away; nil if there was none, or that is not known.
    package var lastStamp: EntryStamp?
    /// The same of the entry below ``base``.
    package var below: EntryStamp?

    package init(
        epoch: UInt64, head: Int64, base: Int64, reads: [HubFrame.ReadMarker], last: Int64 = 0, bytes: Int64 = 0,
        lastStamp: EntryStamp? = nil, below: EntryStamp? = nil
    ) {
        (self.epoch, self.head, self.base, self.reads) = (epoch, head, base, reads)
        (self.last, self.bytes, self.lastStamp, self.below) = (last, bytes, lastStamp, below)
    }
}

/// What a log knows of a device in a room.
package struct DeviceMark: Hashable, Sendable {
    /// The greatest number of a publication; 0: none in this room.
    package var high: Int64
    /// Its name.
    package var id: MessageID
    /// Whose the device is.
    package var user: UserName
    /// When it published last, in milliseconds since 1970 UTC.
    package var at: Int64

    package init(high: Int64, id: MessageID, user: UserName, at: Int64) {
        (self.high, self.id, self.user, self.at) = (high, id, user, at)
    }
}
