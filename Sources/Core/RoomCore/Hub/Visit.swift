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
}
