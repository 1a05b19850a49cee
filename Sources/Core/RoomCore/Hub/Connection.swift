extension HubMachine {
    /// A connection, from its upgrade to its end.
    struct Connection: Sendable {
        /// The client's address.
        let address: String
        /// The client's `hello`; nil before it has come.
        var hello: ClientFrame.Hello?
        /// The position of this `hello` in the order of all `hello` frames.
        var greeted: Int64 = 0
        /// The client's identity; nil before authentication.
        var identity: Identity?
        /// The hub's name for the connection.
        var name = ""
        /// The frames that came before authentication, in order.
        var held: [(frame: ClientFrame, bytes: Int)] = []
        var heldBytes = 0
        /// The rooms that the client has joined.
        var rooms: Set<RoomName> = []
        /// The number of accepted publications without an ack.
        var pending: Int64 = 0
        /// The number of running log reads for its joins.
        var fetches = 0
        /// The number of other pending log requests.
        var questions = 0
        /// The rooms whose joins wait until fewer reads are running.
        var line: [RoomName] = []
        var meter = Meter()
        var frames = Bucket()
        var signals = Bucket()
        /// Whether more bytes wait to be written than allowed.
        var isCongested = false
        /// Whether a new token is being checked.
        var isRenewing = false
        /// Whether the log has said that its device belongs to another user.
        var isDeviceForeign = false

        init(address: String) { self.address = address }
    }

    /// A device as claimed by a user; the same device claimed by another user counts as another one until the log names the owner.
    struct OwnedDevice: Hashable, Sendable {
        let user: UserName
        let device: DeviceID

        init(_ user: UserName, _ device: DeviceID) { (self.user, self.device) = (user, device) }

        // Two users rarely claim the same device.
        func hash(into hasher: inout Hasher) { hasher.combine(device) }
    }

    /// The connections of a device that have said hello, while the tokens of some are being checked.
    struct Greeting: Sendable {
        /// The number of connections that are not authenticated yet.
        var count = 0
        /// The last hello of each user's authenticated connections; a connection with an earlier hello is older, however long its check takes.
        var latest: [UserName: Int64] = [:]
    }

    /// A device that is connected, or still shown as present.
    struct PresentDevice: Sendable {
        var connection: ConnectionID?
        /// The name of its connection; a resume keeps it, so that other members do not notice.
        var name: String
        /// The rooms in which the device is shown although its connection was lost.
        var lingering: Set<RoomName> = []
    }

    /// The membership of a connection in a room.
    struct Member: Sendable {
        /// The progress of a join.
        enum Phase: Equatable, Sendable {
            /// The join waits: for the room to open, for the device's mark, or in the connection's queue.
            case asking
            /// The log is being read for it, under this number.
            case fetching(Int64)
            /// It has a state, and must join again before it gets more entries.
            case behind
            /// It gets every entry.
            case live
        }
        let device: DeviceID
        let user: UserName
        var rights: RoomRights
        var join: ClientFrame.Join
        var phase = Phase.asking
        /// Whether it has a state of the log in its current opening, and may publish.
        var hasState = false
        /// Whether it is no longer live because it was slow, and has not been told yet.
        var isLagged = false
        /// Whether the proof of its cursor was checked.
        var isChecked = false
        /// Whether it is in its connection's queue.
        var isInLine = false
        var typing = Bucket()

        var ownedDevice: OwnedDevice { OwnedDevice(user, device) }

        /// Whether the member is shown as present, and sees the other members.
        var isPresent: Bool { join.wantsPresence && rights.contains(.presence) }
    }

    /// A pending request to the log.
    struct Question: Sendable {
        enum Purpose: Sendable {
            /// Missed entries: those after a number.
            case resume(after: Int64)
            /// The last entries, up to this number.
            case snapshot(limit: Int64)
            /// A page of history.
            case history(reference: Int64, before: Int64)
            /// The entry that is stored under a repeated number.
            case duplicate(DeviceID, cseq: Int64)
            /// The same for the server itself.
            case repeated(ServerRequest, DeviceID, cseq: Int64)
        }
        var room: RoomName
        /// The connection that asked; nil: the server itself.
        var connection: ConnectionID?
        /// The opening of the room during which the request was made.
        var generation: Int64
        var purpose: Purpose
    }

    /// The log's answer to a request for entries.
    struct LogPage: Sendable {
        var entries: [Entry]
        /// The first number that was retained at that time.
        var base: Int64
        /// The stamp of the entry below `base`, if it is known.
        var below: EntryStamp?

        init(_ entries: [Entry], base: Int64, below: EntryStamp? = nil) {
            (self.entries, self.base, self.below) = (entries, base, below)
        }
    }
}

/// The rights of a user in the rooms that match a pattern.
public struct Grant: Hashable, Sendable {
    /// The name of a room, or a prefix of names followed by `*`; `*` alone matches every room.
    public var pattern: String
    /// The granted rights.
    public var rights: RoomRights

    /// Creates a grant.
    public init(_ pattern: String, _ rights: RoomRights) { (self.pattern, self.rights) = (pattern, rights) }

    /// Returns whether the pattern matches a room.
    public func covers(_ room: RoomName) -> Bool {
        let (pattern, name) = (pattern.utf8, room.text.utf8)
        return pattern.last == UInt8(ascii: "*") ? name.starts(with: pattern.dropLast()) : pattern.elementsEqual(name)
    }
}

/// The content of a token: a user, the user's rights, and an expiry.
public struct Identity: Hashable, Sendable {
    /// The user's name.
    public var user: UserName
    /// The grants; the rights of all grants that match a room add up.
    public var grants: [Grant]
    /// When the token expires, in milliseconds since 1970 UTC; nil: never.
    public var expires: Int64?

    /// Creates an identity.
    public init(user: UserName, grants: [Grant], expires: Int64?) { (self.user, self.grants, self.expires) = (user, grants, expires) }

    /// Returns the rights in a room.
    public func rights(in room: RoomName) -> RoomRights {
        grants.reduce(into: []) { rights, grant in if grant.covers(room) { rights.formUnion(grant.rights) } }
    }
}
