/// A frame from a hub to a client.
package enum HubFrame: Hashable, Sendable {
    /// The answer to `hello`.
    case welcome(Welcome)
    /// The hub accepted a token; it expires at this time (milliseconds since 1970 UTC), 0: never.
    case renewed(expires: Int64)
    /// The answer to `join`.
    case state(RoomState)
    /// New entries, in order, in the epoch of the room, and a proof of the last one.
    case entries(RoomName, epoch: UInt64, [Entry], proof: CursorProof? = nil)
    /// Acks for publications that are in the log.
    case acks(RoomName, epoch: UInt64, [Ack])
    /// Publications are missing; the client sends again from this number.
    case hole(RoomName, expected: Int64)
    /// The hub sends no more entries of the room until the client joins again; carries the head of the room.
    case lag(RoomName, head: Int64)
    /// The answer to `hist`.
    case page(Page)
    /// A user has read up to an entry.
    case read(RoomName, UserName, upTo: Int64)
    /// The present members.
    case members(RoomMembers)
    /// A user types, or has stopped typing.
    case typing(RoomName, UserName, Bool)
    /// A signal from another connection.
    case signal(RoomName, from: UserName, connection: String, Signal)
    /// The hub refused something.
    case refusal(Refusal)
    /// The answer to `ping`, with the hub's clock in milliseconds since 1970 UTC.
    case pong(Int64, now: Int64)
    /// The hub is shutting down.
    case goaway(Goaway)

    /// The answer to `hello`: the client's identity and the limits of the connection.
    package struct Welcome: Hashable, Sendable {
        /// The protocol version that both sides use from now on.
        package var version: Int64
        /// The hub's name for the connection.
        package var connection: String
        /// The client's user.
        package var user: UserName
        /// The hub's clock, in milliseconds since 1970 UTC.
        package var now: Int64
        /// When the token expires, in milliseconds since 1970 UTC; 0: never.
        package var expires: Int64
        /// How long the hub remembers a silent device, in milliseconds.
        package var window: Int64
        /// The limits for what the client sends.
        package var limits: RoomsLimits

        /// Creates the answer to `hello`.
        package init(
            version: Int64, connection: String, user: UserName, now: Int64, expires: Int64, window: Int64, limits: RoomsLimits
        ) {
            (self.version, self.connection, self.user, self.now) = (version, connection, user, now)
            (self.expires, self.window, self.limits) = (expires, window, limits)
        }
    }

    /// The state of a room, sent to a client that joins.
    package struct RoomState: Hashable, Sendable {
        /// The room.
        package var room: RoomName
        /// The incarnation of the room's log.
        package var epoch: UInt64
        /// The number of the first of the entries, or the number that it would have.
        package var from: Int64
        /// The number of the last of the entries; `from` − 1 if there is none.
        package var to: Int64
        /// The last number in the log.
        package var head: Int64
        /// The first number that the hub retains; head + 1 if it retains none.
        package var base: Int64
        /// The entries, in order.
        package var items: [Entry]
        /// Whether the entries replace those that the client has.
        package var isSnapshot: Bool
        /// Whether there are more entries, for which the client joins again.
        package var hasMore: Bool
        /// The greatest message number of this device in the room; 0: none.
        package var high: Int64
        /// The ID of that message.
        package var highID: MessageID?
        /// The client's rights in the room.
        package var rights: RoomRights
        /// How far the users have read.
        package var reads: [ReadMarker]
        /// The proof of the entry at the client's cursor after it has stored these entries; nil if there is none.
        package var proof: CursorProof?

        /// Creates the answer to `join`.
        package init(
            room: RoomName, epoch: UInt64, from: Int64, to: Int64, head: Int64, base: Int64, items: [Entry], isSnapshot: Bool,
            hasMore: Bool, high: Int64, highID: MessageID?, rights: RoomRights, reads: [ReadMarker], proof: CursorProof? = nil
        ) {
            (self.room, self.epoch, self.from, self.to, self.head, self.base) = (room, epoch, from, to, head, base)
            (self.items, self.isSnapshot, self.hasMore) = (items, isSnapshot, hasMore)
            (self.high, self.highID, self.rights, self.reads, self.proof) = (high, highID, rights, reads, proof)
        }
    }

    /// How far a user has read.
    package struct ReadMarker: Hashable, Sendable {
        /// The user.
        package var user: UserName
        /// The number of the last entry that the user has read.
        package var seq: Int64

        /// Creates a read marker.
        package init(user: UserName, seq: Int64) { (self.user, self.seq) = (user, seq) }
    }

    /// An ack: a publication is on disk.
    package struct Ack: Hashable, Sendable {
        /// The message's number among the device's messages.
        package var cseq: Int64
        /// The number in the log; 0 for a void, and if the publication is too old to be known.
        package var seq: Int64
        /// When it was stored, in milliseconds since 1970 UTC; 0 if unknown.
        package var at: Int64
        /// The ID of the message stored under this number; nil if it is too old to be known.
        package var id: MessageID?
        /// Whether the publication had been stored before.
        package var isDuplicate: Bool

        /// Creates an ack.
        package init(cseq: Int64, seq: Int64, at: Int64, id: MessageID?, isDuplicate: Bool = false) {
            (self.cseq, self.seq, self.at, self.id, self.isDuplicate) = (cseq, seq, at, id, isDuplicate)
        }
    }

    /// Older entries.
    package struct Page: Hashable, Sendable {
        /// The client's reference number for the request.
        package var reference: Int64
        /// The room.
        package var room: RoomName
        /// The incarnation of the room's log.
        package var epoch: UInt64
        /// The entries, in order; the last one comes right before the requested number.
        package var items: [Entry]
        /// The first number that the hub retains.
        package var base: Int64

        /// Creates the answer to `hist`.
        package init(reference: Int64, room: RoomName, epoch: UInt64, items: [Entry], base: Int64) {
            (self.reference, self.room, self.epoch, self.items, self.base) = (reference, room, epoch, items, base)
        }
    }

    /// The present members of a room, as one node sees them.
    package struct RoomMembers: Hashable, Sendable {
        /// The room.
        package var room: RoomName
        /// The node that reports; only this node writes its own members.
        package var node: String
        /// The incarnation of the node.
        package var incarnation: UInt64
        /// The version of the node's members in this room; it increases with each change.
        package var version: Int64
        /// Whether this report replaces all members of the node.
        package var isFull: Bool
        /// The number of connections that are present at this node.
        package var total: Int64
        /// The present connections, or those that came or changed.
        package var members: [PresentMember]
        /// The connections that left.
        package var gone: [String]

        /// Creates a report of members.
        package init(
            room: RoomName, node: String, incarnation: UInt64, version: Int64, isFull: Bool, total: Int64, members: [PresentMember],
            gone: [String]
        ) {
            (self.room, self.node, self.incarnation, self.version) = (room, node, incarnation, version)
            (self.isFull, self.total, self.members, self.gone) = (isFull, total, members, gone)
        }
    }

    /// The announcement that the hub is shutting down.
    package struct Goaway: Hashable, Sendable {
        /// How long the client should wait before it reconnects, in milliseconds; it differs for each client.
        package var after: Int64
        /// How long the hub still acks publications that it has received, in milliseconds.
        package var drain: Int64

        /// Creates the announcement that the hub is shutting down.
        package init(after: Int64, drain: Int64) { (self.after, self.drain) = (after, drain) }
    }

    /// Whether the frame is ephemeral: it is dropped first when a client is slow, and never delays an entry or an ack.
    package var isEphemeral: Bool {
        switch self {
        case .members, .typing, .signal: true
        default: false
        }
    }
}

/// The presence of a user on one connection.
public struct Presence: Hashable, Sendable {
    /// The status: `online`, `away`, or one of the app; at most 64 bytes.
    public var status: String
    /// Metadata of the app as JSON, at most 1 KiB; nil: none.
    public var meta: [UInt8]?

    /// Creates a presence.
    public init(status: String = "online", meta: [UInt8]? = nil) { (self.status, self.meta) = (status, meta) }
}

/// A connection that is present in a room.
public struct PresentMember: Hashable, Sendable {
    /// The hub's name for the connection.
    public var connection: String
    /// The user of the connection.
    public var user: UserName
    /// The presence of the connection.
    public var presence: Presence

    /// Creates a present member.
    public init(connection: String, user: UserName, presence: Presence) {
        (self.connection, self.user, self.presence) = (connection, user, presence)
    }
}

/// Why the hub refused something, and whether a retry helps.
public struct Refusal: Hashable, Sendable {
    /// The reason code, with the numbers of the protocol.
    public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The number on the wire.
        public var rawValue: Int64

        /// Creates a code from its number.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// The message is not a frame of this protocol.
        public static let malformed = Code(rawValue: 1001)
        /// The client and the hub have no common version.
        public static let version = Code(rawValue: 1002)
        /// `hello` is missing, late or repeated.
        public static let order = Code(rawValue: 1003)
        /// The publication came before the room's state.
        public static let early = Code(rawValue: 1004)
        /// The token is missing, malformed or not issued for this hub.
        public static let token = Code(rawValue: 2001)
        /// The token has expired.
        public static let expired = Code(rawValue: 2002)
        /// The device belongs to another user.
        public static let device = Code(rawValue: 2003)
        /// The user lacks the right to do that in this room.
        public static let rights = Code(rawValue: 3001)
        /// The room name is invalid.
        public static let name = Code(rawValue: 3002)
        /// The client has not joined the room.
        public static let notJoined = Code(rawValue: 3003)
        /// Too many messages or bytes.
        public static let rate = Code(rawValue: 4001)
        /// The payload or its type is too long.
        public static let size = Code(rawValue: 4002)
        /// Too many rooms or connections.
        public static let count = Code(rawValue: 4003)
        /// The message was submitted longer ago than the hub remembers devices.
        public static let tooOld = Code(rawValue: 4004)
        /// The message was submitted in the future.
        public static let tooNew = Code(rawValue: 4005)
        /// The storage quota of the user, the room or the hub is used up.
        public static let quota = Code(rawValue: 4006)
        /// The hub cannot store it at the moment.
        public static let storage = Code(rawValue: 5001)
        /// The hub lags behind the log.
        public static let lagging = Code(rawValue: 5002)
        /// The hub is shutting down.
        public static let stopping = Code(rawValue: 5003)

        /// The number as text.
        public var description: String { String(rawValue) }
    }
    /// Whether, and when, to try again.
    public enum Retry: Hashable, Sendable {
        /// Never: the hub would refuse it again.
        case never
        /// At once.
        case now
        /// After this number of milliseconds.
        case after(Int64)
        /// With a new connection.
        case reconnect
    }
    /// The reason code.
    public var code: Code
    /// Whether, and when, to try again.
    public var retry: Retry
    /// The room that the refusal is about.
    public var room: RoomName?
    /// The number of the publication that the refusal is about.
    public var cseq: Int64?
    /// The reference number of the request that the refusal answers.
    public var reference: Int64?
    /// The versions of the hub, if there is no common version.
    public var versions: [Int64]
    /// A description for people; at most 256 bytes.
    public var text: String

    /// Creates a refusal.
    public init(
        _ code: Code, retry: Retry = .never, room: RoomName? = nil, cseq: Int64? = nil, reference: Int64? = nil, versions: [Int64] = [],
        _ text: String
    ) {
        (self.code, self.retry, self.room, self.cseq) = (code, retry, room, cseq)
        (self.reference, self.versions, self.text) = (reference, versions, text)
    }
}
