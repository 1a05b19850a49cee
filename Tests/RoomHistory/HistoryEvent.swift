/// One event of a client or a hub, as it recorded it itself.
///
/// The lines of one writer are ordered, and lines of different writers are not. On disk an event is a line of JSON with the fields
/// that it has.
public struct HistoryEvent: Hashable, Sendable, Codable {
    /// The kinds of events.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        // A client's events, in the order in which its app is told of them.
        /// The app submitted a message: `room`, `id`, `digest`.
        case submitted
        /// The message is in the outbox, on disk: `room`, `id`, `cseq`, perhaps `device`.
        case queued
        /// The outbox did not accept the message: `room`, `id`.
        case refused
        /// The message is in the room's log: `room`, `id`, `epoch`, `seq`; `seq` is 0 if retention has removed the message.
        case acked
        /// The message will not be sent unless the app retries: `room`, `id`, `text`; `isUncertain` if it may be in the log after all.
        case failed
        /// The app retries: `room`, `id`.
        case retried
        /// The app asks for the message to be discarded: `room`, `id`.
        case discarding
        /// The message left the outbox because the app discarded it: `room`, `id`.
        case discarded
        /// Entries came that follow the earlier ones: `room`, `epoch`, `items`.
        case applied
        /// A snapshot replaced the stored entries: `room`, `epoch`, `seq` of the cursor, `items`.
        case replaced
        /// Older entries came: `room`, `items`, of the store's epoch; `seq` is the store's first number now, if that is known.
        case paged
        /// The room was removed from the store: `room`.
        case forgot
        /// The store was read after a start: `room`, `epoch`, `seq` of the cursor; if known, `count` of its entries and their `limit`.
        case opened
        /// The program was killed, or crashed.
        case died
        /// The program was started on its own store.
        case started
        /// More time has passed than the hub remembers a device, so no one knows whether pending messages were stored.
        case slept
        /// The program was started on an older copy of the store.
        case restored

        // A client's events at the end.
        /// The messages that are still pending in the outbox: `room`, `names`.
        case outbox
        /// The stored entries: `room`, `epoch`, `seq` of the cursor, `items`; `limit`, if the store has one.
        case store
        /// The members who are present, as the app was last told: `room`, `names`.
        case members

        // A hub's events.
        /// A room's log, at the end or before it is rewound: `room`, `epoch`, `seq` of the first retained entry, `items` (also older
        /// ones, if they are known).
        case log
        /// A room's log was lost or restored and has a new epoch: `room`; with `epoch` it was restored unnoticed and keeps that epoch.
        case rewound
        /// The members who are really present: `room`, `names`.
        case present

        // Events of an observer.
        /// The number of times that something happened: `text`, `count`.
        ///
        /// Counts with the same text add up.
        case counted
        /// The writer itself saw a rule broken: `text`.
        case broken
    }

    /// When it happened, in milliseconds of the writer's own clock.
    ///
    /// Only people read it.
    public var at: Int64
    /// The writer: a client's store through all its starts, or a hub.
    public var who: String
    /// The kind of event.
    public var what: Kind
    /// The room.
    public var room: String?
    /// The message's ID.
    public var id: String?
    /// The incarnation of the client's store.
    public var device: String?
    /// The message's number within its device.
    public var cseq: Int64?
    /// The epoch of the log.
    public var epoch: String?
    /// A position in the log.
    public var seq: Int64?
    /// The digest of the payload.
    public var digest: String?
    /// Entries, in order.
    public var items: [HistoryItem]?
    /// IDs of messages, or names of members.
    public var names: [String]?
    /// A count of events or entries.
    public var count: Int64?
    /// The largest number of entries.
    public var limit: Int64?
    /// Whether a failed message may have been stored.
    public var isUncertain: Bool?
    /// Text for people, or the name of what was counted.
    public var text: String?

    /// An event of a kind.
    ///
    /// Its fields are set afterwards, or by the functions that create one kind.
    public init(_ what: Kind, who: String, at: Int64 = 0, room: String? = nil) {
        (self.what, self.who, self.at, self.room) = (what, who, at, room)
    }
}
