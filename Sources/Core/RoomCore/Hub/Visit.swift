extension HubMachine {
    /// One connection, from its upgrade to its end.
    struct Visit: Sendable {
        /// Where it comes from.
        let address: String
        /// What it said first; nil: nothing yet.
        var hello: ClientFrame.Hello?
        /// Counts what was said first, in the order in which it came.
        var greeted: Int64 = 0
        /// Who it is; nil: not known yet.
        var identity: Identity?
        /// The hub's name of the connection.
        var name = ""
        /// What it said before it was known, in order.
        var held: [(frame: ClientFrame, bytes: Int)] = []
        var heldBytes = 0
        /// The rooms that it has joined.
        var rooms: Set<RoomName> = []
        /// Publications that are taken and not acked.
        var pending: Int64 = 0
        /// Reads of the log under way to answer its joins.
        var fetches = 0
        /// Other questions to the log.
        var questions = 0
        /// Rooms whose joins wait until fewer reads are under way.
        var line: [RoomName] = []
        var meter = Meter()
        var frames = Bucket()
        var signals = Bucket()
        /// Whether more waits to be written than may.
        var isCongested = false
        /// Whether a fresh token is being looked at.
        var isRenewing = false
        /// Whether the log has said that its device is another user's.
        var isDeviceForeign = false

        init(address: String) { self.address = address }
    }

    /// A device of a user: one that another user says to have is another one, until the log of a room says whose it is.
    struct OwnedDevice: Hashable, Sendable {
        let user: UserName
        let device: DeviceID

        init(_ user: UserName, _ device: DeviceID) { (self.user, self.device) = (user, device) }

        // Hardly ever do two users say the same one.
        func hash(into hasher: inout Hasher) { hasher.combine(device) }
    }

    /// Connections that have said hello with one device, as long as tokens are looked at for some of them.
    struct Greeting: Sendable {
        /// How many are not known yet.
        var count = 0
        /// When those of a user who are known said hello last: who did before is an older connection, however long its token takes.
        var latest: [UserName: Int64] = [:]
    }

    /// A device that is connected, or is still shown as present.
    struct Presentee: Sendable {
        var connection: ConnectionID?
        /// The name of its connection, which a resume takes over so that nobody sees it.
        var name: String
        /// Rooms in which it is shown though its connection was lost.
        var lingering: Set<RoomName> = []
    }

    /// A connection in a room.
    struct Member: Sendable {
        /// How far it is.
        enum Phase: Equatable, Sendable {
            /// Its join waits: for the room to be open, for its device's mark, or in its connection's line.
            case asking
            /// The log is read for it, under this number.
            case fetching(Int64)
            /// It has a state, and is to join again before more entries come.
            case behind
            /// It gets every entry.
            case live
        }
        let device: DeviceID
        let user: UserName
        var rights: RoomRights
        var join: ClientFrame.Join
        var phase = Phase.asking
        /// Whether it has a state of the log as it is open now, and may publish.
        var hasState = false
        /// Whether it lost its place among the live because it was slow, and has not been told yet.
        var isLagged = false
        /// Whether its cursor's proof was held against the log.
        var isChecked = false
        /// Whether it stands in its connection's line.
        var isInLine = false
        var typing = Bucket()

        var ownedDevice: OwnedDevice { OwnedDevice(user, device) }

        /// Whether it is shown, and sees who is there.
        var isPresent: Bool { join.wantsPresence && rights.contains(.presence) }
    }

    /// What the log was asked, to be remembered until it answers.
    struct Question: Sendable {
        enum Purpose: Sendable {
            /// Missed entries: those after a number.
            case resume(after: Int64)
            /// The last entries: so many at most.
            case snapshot(limit: Int64)
            /// A page backwards.
            case history(reference: Int64, before: Int64)
            /// What is stored under a number already.
            case duplicate(DeviceID, cseq: Int64)
            /// The same for the server itself.
            case repeated(ServerRequest, DeviceID, cseq: Int64)
        }
        var room: RoomName
        /// Who wants to know; nil: the server itself.
        var connection: ConnectionID?
        /// The opening of the room in which it was asked.
        var generation: Int64
        var purpose: Purpose
    }

    /// What the log answers to one who wants entries.
    struct LogPage: Sendable {
        var entries: [Entry]
        /// The first number that was retained then.
        var base: Int64
        /// What the entry below that was, if it is known.
        var below: EntryStamp?

        init(_ entries: [Entry], base: Int64, below: EntryStamp? = nil) {
            (self.entries, self.base, self.below) = (entries, base, below)
        }
    }
}

/// What somebody may do in the rooms of a pattern.
public struct Grant: Hashable, Sendable {
    /// A room's name, or the beginning of names followed by `*`; `*` alone is every room.
    public var pattern: String
    /// What is granted there.
    public var rights: RoomRights

    /// A grant.
    public init(_ pattern: String, _ rights: RoomRights) { (self.pattern, self.rights) = (pattern, rights) }

    /// Whether it speaks of a room.
    public func covers(_ room: RoomName) -> Bool {
        let (pattern, name) = (pattern.utf8, room.text.utf8)
        return pattern.last == UInt8(ascii: "*") ? name.starts(with: pattern.dropLast()) : pattern.elementsEqual(name)
    }
}

/// Who somebody is, and what they may do, until when: what a token says.
public struct Identity: Hashable, Sendable {
    /// Who.
    public var user: UserName
    /// What they may do; the rights of all grants that cover a room add up.
    public var grants: [Grant]
    /// When the token ends, in milliseconds since 1970 UTC; nil: never.
    public var expires: Int64?

    /// Who somebody is.
    public init(user: UserName, grants: [Grant], expires: Int64?) { (self.user, self.grants, self.expires) = (user, grants, expires) }

    /// What they may do in a room.
    public func rights(in room: RoomName) -> RoomRights {
        grants.reduce(into: []) { rights, grant in if grant.covers(room) { rights.formUnion(grant.rights) } }
    }
}
