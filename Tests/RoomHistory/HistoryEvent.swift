/// One thing that happened to a client or to a hub, as it wrote it down itself.
///
/// The order of the lines of one writer counts; between writers there is none. On disk an event is a line of JSON with the fields that
/// it has.
public struct HistoryEvent: Hashable, Sendable, Codable {
    /// What can be written down.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        // A client, in the order in which its app hears of it.
        /// The app submitted a message: `room`, `id`, `digest`.
        case submitted
        /// The message is in the outbox, on disk: `room`, `id`, `cseq`, perhaps `device`.
        case queued
        /// The message was not taken into the outbox: `room`, `id`.
        case refused
        /// The message is in the room's log: `room`, `id`, `epoch`, `seq`; 0 if retention has passed it.
        case acked
        /// The message will not be sent, unless the app retries: `room`, `id`, `text`; `isUncertain` if it may be in the log after all.
        case failed
        /// The app retries: `room`, `id`.
        case retried
        /// The app asks for the message to be discarded: `room`, `id`.
        case discarding
        /// The message left the outbox because the app discarded it: `room`, `id`.
        case discarded
        /// Entries came after those before: `room`, `epoch`, `items`.
        case applied
        /// What was stored was replaced: `room`, `epoch`, `seq` of the cursor, `items`.
        case replaced
        /// Older entries came: `room`, `items`, of the epoch of the store; `seq` is where the store begins now, if that is known.
        case paged
        /// Nothing of a room is stored any more: `room`.
        case forgot
        /// The store was read after a start: `room`, `epoch`, `seq` of the cursor; if known, `count` of its entries and their `limit`.
        case opened
        /// The program was killed, or crashed.
        case died
        /// The program was started on the store it had.
        case started
        /// More time has passed than the hub remembers a device: what was on its way may have been stored or not, nobody can say.
        case slept
        /// The program was started on an older copy of the store.
        case restored

        // A client at the end.
        /// What still waits in the outbox to be sent: `room`, `names`.
        case outbox
        /// What is stored: `room`, `epoch`, `seq` of the cursor, `items`; how many it keeps at most: `limit`, if it has one.
        case store
        /// Who is present, as the app was told last: `room`, `names`.
        case members

        // A hub.
        /// A room's log, at the end or before it is rewound: `room`, `epoch`, `seq` of the first entry that is retained, `items` (also older
        /// ones, if they are known).
        case log
        /// A room's log was lost or put back, and has a new epoch: `room`; with `epoch` an older one was put back unseen, and keeps that one.
        case rewound
        /// Who is present in truth: `room`, `names`.
        case present

        // Whoever watches.
        /// So often did something happen: `text`, `count`. Counts of one name add up.
        case counted
        /// The writer itself saw a rule broken: `text`.
        case broken
    }

    /// When, in milliseconds by the writer's own clock; for people.
    public var at: Int64
    /// Who writes: a client's store, through all its starts, or a hub.
    public var who: String
    /// What happened.
    public var what: Kind
    /// The room.
    public var room: String?
    /// The message's name.
    public var id: String?
    /// The incarnation of the store.
    public var device: String?
    /// The message's number among the device's.
    public var cseq: Int64?
    /// The incarnation of the log.
    public var epoch: String?
    /// A place in the log.
    public var seq: Int64?
    /// What the payload comes to.
    public var digest: String?
    /// Entries, in order.
    public var items: [HistoryItem]?
    /// Names of messages or of members.
    public var names: [String]?
    /// How often, or how many.
    public var count: Int64?
    /// How many at most.
    public var limit: Int64?
    /// Whether a failed message may have been stored.
    public var isUncertain: Bool?
    /// For people, or what was counted.
    public var text: String?

    /// Something that happened; its fields are set afterwards or by the functions that make one kind.
    public init(_ what: Kind, who: String, at: Int64 = 0, room: String? = nil) {
        (self.what, self.who, self.at, self.room) = (what, who, at, room)
    }
}
