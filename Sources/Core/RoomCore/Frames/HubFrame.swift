/// What a hub says to a client.
public enum HubFrame: Hashable, Sendable {
    /// The answer to `hello`.
    case welcome(Welcome)
    /// A token was taken; it ends at this time (milliseconds since 1970 UTC), 0: never.
    case renewed(expires: Int64)
    /// The answer to `join`.
    case state(RoomState)
    /// New entries, in order, in the epoch of the room; a proof of the last one.
    case entries(RoomName, epoch: UInt64, [Entry], proof: CursorProof? = nil)
    /// Publications are in the log.
    case acks(RoomName, epoch: UInt64, [Ack])
    /// Publications were lost between; they follow again from this number.
    case hole(RoomName, expected: Int64)
    /// Nothing more of the room's entries comes until the client joins again; the room's head.
    case lag(RoomName, head: Int64)
    /// The answer to `hist`.
    case page(Page)
    /// Somebody has read up to an entry.
    case read(RoomName, UserName, upTo: Int64)
    /// Who is present.
    case members(RoomMembers)
    /// Somebody types, or has stopped.
    case typing(RoomName, UserName, Bool)
    /// Somebody's signal.
    case signal(RoomName, from: UserName, connection: String, Signal)
    /// Something was refused.
    case refusal(Refusal)
    /// The answer to `ping`; the hub's clock, in milliseconds since 1970 UTC.
    case pong(Int64, now: Int64)
    /// The hub stops.
    case goaway(Goaway)

    /// What may be sent, and who one is.
    public struct Welcome: Hashable, Sendable {
        /// The version that both speak from now on.
        public var version: Int64
        /// The hub's name of the connection.
        public var connection: String
        /// Who the client is.
        public var user: UserName
        /// The hub's clock, in milliseconds since 1970 UTC.
        public var now: Int64
        /// When the token ends, in milliseconds since 1970 UTC; 0: never.
        public var expires: Int64
        /// For how long a device that is silent is remembered, in milliseconds.
        public var window: Int64
        /// What may be sent.
        public var limits: RoomsLimits

        /// The answer to `hello`.
        public init(
            version: Int64, connection: String, user: UserName, now: Int64, expires: Int64, window: Int64, limits: RoomsLimits
        ) {
            (self.version, self.connection, self.user, self.now) = (version, connection, user, now)
            (self.expires, self.window, self.limits) = (expires, window, limits)
        }
    }

    /// A room as it is for one who joins.
    public struct RoomState: Hashable, Sendable {
        /// The room.
        public var room: RoomName
        /// Its log's incarnation.
        public var epoch: UInt64
        /// The number of the first of the entries, or where it would be.
        public var from: Int64
        /// The number of the last; `from` − 1 if there is none.
        public var to: Int64
        /// The last number in the log.
        public var head: Int64
        /// The first number that is retained; head + 1 if none is.
        public var base: Int64
        /// The entries, in order.
        public var items: [Entry]
        /// Whether they replace what the client has.
        public var isSnapshot: Bool
        /// Whether there is more to join for.
        public var hasMore: Bool
        /// The greatest number of a message of this device in the room; 0: none.
        public var high: Int64
        /// The name of that message.
        public var highID: MessageID?
        /// What the client may do.
        public var rights: RoomRights
        /// How far the users have read.
        public var reads: [ReadMarker]
        /// The proof of the entry that the client's cursor is at when it has taken this; nil: there is none.
        public var proof: CursorProof?

        /// The answer to `join`.
        public init(
            room: RoomName, epoch: UInt64, from: Int64, to: Int64, head: Int64, base: Int64, items: [Entry], isSnapshot: Bool,
            hasMore: Bool, high: Int64, highID: MessageID?, rights: RoomRights, reads: [ReadMarker], proof: CursorProof? = nil
        ) {
            (self.room, self.epoch, self.from, self.to, self.head, self.base) = (room, epoch, from, to, head, base)
            (self.items, self.isSnapshot, self.hasMore) = (items, isSnapshot, hasMore)
            (self.high, self.highID, self.rights, self.reads, self.proof) = (high, highID, rights, reads, proof)
        }
    }

    /// How far a user has read.
    public struct ReadMarker: Hashable, Sendable {
        /// Who.
        public var user: UserName
        /// The last entry that was read.
        public var seq: Int64

        /// A read marker.
        public init(user: UserName, seq: Int64) { (self.user, self.seq) = (user, seq) }
    }

    /// A publication is on disk.
    public struct Ack: Hashable, Sendable {
        /// Its number among the device's.
        public var cseq: Int64
        /// Its place in the room's order; 0 of a void, and if it is too old to be known.
        public var seq: Int64
        /// When it was stored, in milliseconds since 1970 UTC; 0 if unknown.
        public var at: Int64
        /// The name of what is stored under this number; nil if that is too old to be known.
        public var id: MessageID?
        /// Whether it had been there before.
        public var isDuplicate: Bool

        /// An ack.
        public init(cseq: Int64, seq: Int64, at: Int64, id: MessageID?, isDuplicate: Bool = false) {
            (self.cseq, self.seq, self.at, self.id, self.isDuplicate) = (cseq, seq, at, id, isDuplicate)
        }
    }

    /// Older entries.
    public struct Page: Hashable, Sendable {
        /// The client's name for the question.
        public var reference: Int64
        /// The room.
        public var room: RoomName
        /// Its log's incarnation.
        public var epoch: UInt64
        /// The entries, in order; the last comes right before what was asked for.
        public var items: [Entry]
        /// The first number that is retained.
        public var base: Int64

        /// The answer to `hist`.
        public init(reference: Int64, room: RoomName, epoch: UInt64, items: [Entry], base: Int64) {
            (self.reference, self.room, self.epoch, self.items, self.base) = (reference, room, epoch, items, base)
        }
    }

    /// Who is present, as one node sees it.
    public struct RoomMembers: Hashable, Sendable {
        /// The room.
        public var room: RoomName
        /// The node, which alone writes this.
        public var node: String
        /// Its life.
        public var incarnation: UInt64
        /// Counts the node's changes in this room.
        public var version: Int64
        /// Whether this replaces all of the node's members.
        public var isFull: Bool
        /// How many are present at this node.
        public var total: Int64
        /// Who is present, or has come or changed.
        public var members: [PresentMember]
        /// The connections that have gone.
        public var gone: [String]

        /// Who is present.
        public init(
            room: RoomName, node: String, incarnation: UInt64, version: Int64, isFull: Bool, total: Int64, members: [PresentMember],
            gone: [String]
        ) {
            (self.room, self.node, self.incarnation, self.version) = (room, node, incarnation, version)
            (self.isFull, self.total, self.members, self.gone) = (isFull, total, members, gone)
        }
    }

    /// When to come back.
    public struct Goaway: Hashable, Sendable {
        /// How long to stay away, in milliseconds; to each client another time.
        public var after: Int64
        /// How long the hub still acks what it has taken, in milliseconds.
        public var drain: Int64

        /// The hub stops.
        public init(after: Int64, drain: Int64) { (self.after, self.drain) = (after, drain) }
    }

    /// Whether it is of the lane that nobody stores: dropped first when a client is slow, and never in the way of an entry or an ack.
    public var isEphemeral: Bool {
        switch self {
        case .members, .typing, .signal: true
        default: false
        }
    }
}

/// How somebody wants to be seen.
public struct Presence: Hashable, Sendable {
    /// `online`, `away`, or the app's own; at most 64 bytes.
    public var status: String
    /// JSON of the app's own, at most 1 KiB; nil: none.
    public var meta: [UInt8]?

    /// How somebody wants to be seen.
    public init(status: String = "online", meta: [UInt8]? = nil) { (self.status, self.meta) = (status, meta) }
}

/// One connection that is present in a room.
public struct PresentMember: Hashable, Sendable {
    /// The hub's name of the connection.
    public var connection: String
    /// Whose it is.
    public var user: UserName
    /// How it wants to be seen.
    public var presence: Presence

    /// A connection that is present.
    public init(connection: String, user: UserName, presence: Presence) {
        (self.connection, self.user, self.presence) = (connection, user, presence)
    }
}

/// Why something was refused, and what would help.
public struct Refusal: Hashable, Sendable {
    /// What happened; the numbers are those of the protocol.
    public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The number on the wire.
        public var rawValue: Int64

        /// A code by its number.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Not a frame of this protocol.
        public static let malformed = Code(rawValue: 1001)
        /// No common version.
        public static let version = Code(rawValue: 1002)
        /// `hello` is missing, late or repeated.
        public static let order = Code(rawValue: 1003)
        /// The publication comes before the room's state.
        public static let early = Code(rawValue: 1004)
        /// The token is missing, malformed or not ours.
        public static let token = Code(rawValue: 2001)
        /// The token has ended.
        public static let expired = Code(rawValue: 2002)
        /// The device belongs to another user.
        public static let device = Code(rawValue: 2003)
        /// No right to do that in this room.
        public static let rights = Code(rawValue: 3001)
        /// Not a room's name.
        public static let name = Code(rawValue: 3002)
        /// Not joined.
        public static let notJoined = Code(rawValue: 3003)
        /// Too many messages or bytes.
        public static let rate = Code(rawValue: 4001)
        /// The payload or its type is too long.
        public static let size = Code(rawValue: 4002)
        /// Too many rooms or connections.
        public static let count = Code(rawValue: 4003)
        /// Issued longer ago than the hub remembers.
        public static let tooOld = Code(rawValue: 4004)
        /// Issued in the future.
        public static let tooNew = Code(rawValue: 4005)
        /// As much is stored as may be, of the user, the room or the hub.
        public static let quota = Code(rawValue: 4006)
        /// It cannot be stored now.
        public static let storage = Code(rawValue: 5001)
        /// This hub lags behind the log.
        public static let lagging = Code(rawValue: 5002)
        /// The hub stops.
        public static let stopping = Code(rawValue: 5003)

        /// The number.
        public var description: String { String(rawValue) }
    }
    /// Whether, and when, to try again.
    public enum Retry: Hashable, Sendable {
        /// It will be refused again.
        case never
        /// At once.
        case now
        /// After so many milliseconds.
        case after(Int64)
        /// With a new connection.
        case reconnect
    }
    /// What happened.
    public var code: Code
    /// Whether to try again.
    public var retry: Retry
    /// The room that it is about.
    public var room: RoomName?
    /// The publication that it is about.
    public var cseq: Int64?
    /// The question that it answers.
    public var reference: Int64?
    /// The versions of the hub, if none was common.
    public var versions: [Int64]
    /// For people; at most 256 bytes.
    public var text: String

    /// A refusal.
    public init(
        _ code: Code, retry: Retry = .never, room: RoomName? = nil, cseq: Int64? = nil, reference: Int64? = nil, versions: [Int64] = [],
        _ text: String
    ) {
        (self.code, self.retry, self.room, self.cseq) = (code, retry, room, cseq)
        (self.reference, self.versions, self.text) = (reference, versions, text)
    }
}
