/// The limits and timeouts of a hub.
package struct HubPolicy: Hashable, Sendable {
    /// A rate limit: an amount per second, and a burst after a pause.
    package struct Rate: Hashable, Sendable {
        package var perSecond: Int64
        package var burst: Int64

        package init(perSecond: Int64, burst: Int64) { (self.perSecond, self.burst) = (perSecond, burst) }
    }
    /// The limits for one connection, one user, or one address.
    package struct Allowance: Hashable, Sendable {
        /// The rate of publications.
        package var messages: Rate
        /// The rate of bytes of publications.
        package var bytes: Rate
        /// The rate of joins and of requests with a similar cost.
        ///
        /// These are: each page of a long absence and of history, a change of presence, a request for the members, and a new token. A
        /// token with other grants costs one more for every 50 rooms.
        package var joins: Rate
        /// The rate of bytes of signals, typing notices, read markers and changes of presence; the hub drops what exceeds it.
        package var ephemeral: Rate
        /// The rate of bytes of entries that are sent on request, in states and pages; the entry that exceeds it is still sent.
        package var pages: Rate
        /// The maximum number of connections at once; has no meaning for one connection.
        package var connections: Int
        /// The maximum number of rooms at once, each counted once; the hub refuses more with 4003.
        ///
        /// For one connection, ``RoomsLimits/rooms`` applies.
        package var rooms: Int

        package init(messages: Rate, bytes: Rate, joins: Rate, ephemeral: Rate, pages: Rate, connections: Int, rooms: Int) {
            (self.messages, self.bytes, self.joins, self.ephemeral) = (messages, bytes, joins, ephemeral)
            (self.pages, self.connections, self.rooms) = (pages, connections, rooms)
        }
    }

    /// The limits that the hub announces to clients.
    package var limits = RoomsLimits()

    // Rates; the hub refuses what exceeds them with 4001.

    /// The limits for one connection.
    ///
    /// The burst allows for a whole window that is sent twice, and a `hello` with all rooms.
    package var connection = Allowance(
        messages: Rate(perSecond: 200, burst: 1024), bytes: Rate(perSecond: 2 << 20, burst: 16 << 20),
        joins: Rate(perSecond: 100, burst: 2048), ephemeral: Rate(perSecond: 32 << 10, burst: 128 << 10),
        pages: Rate(perSecond: 4 << 20, burst: 32 << 20), connections: 1, rooms: 1000)
    /// The limits for all connections of one user together.
    package var user = Allowance(
        messages: Rate(perSecond: 500, burst: 4096), bytes: Rate(perSecond: 8 << 20, burst: 64 << 20),
        joins: Rate(perSecond: 400, burst: 8192), ephemeral: Rate(perSecond: 64 << 10, burst: 256 << 10),
        pages: Rate(perSecond: 8 << 20, burst: 64 << 20), connections: 64, rooms: 4096)
    /// The limits for one address, which many users may share.
    package var address = Allowance(
        messages: Rate(perSecond: 5000, burst: 20_000), bytes: Rate(perSecond: 64 << 20, burst: 256 << 20),
        joins: Rate(perSecond: 10_000, burst: 100_000), ephemeral: Rate(perSecond: 2 << 20, burst: 8 << 20),
        pages: Rate(perSecond: 64 << 20, burst: 256 << 20), connections: 20_000, rooms: 20_000)
    /// The rate of frames of all kinds of one connection, including refused ones; the hub closes a connection that exceeds it with 4003.
    package var frames = Rate(perSecond: 2000, burst: 8000)
    /// The rate of signals, typing notices and read markers of one connection; the hub drops what exceeds it.
    package var signals = Rate(perSecond: 30, burst: 60)
    /// The rate of deliveries of typing notices and signals in one room; the hub drops what exceeds it.
    package var ephemerals = Rate(perSecond: 100_000, burst: 200_000)
    /// The rate of bytes of ephemeral frames that one user may cause: the length times the number of receivers.
    ///
    /// The hub drops what exceeds it. A list of members for a client that joins or asks is delayed until this rate and the next two allow
    /// it.
    package var userDeliveries = Rate(perSecond: 4 << 20, burst: 16 << 20)
    /// The same for one room; changes of presence are delayed by it, but not for long.
    package var roomDeliveries = Rate(perSecond: 16 << 20, burst: 32 << 20)
    /// The same for the whole hub.
    package var deliveries = Rate(perSecond: 64 << 20, burst: 128 << 20)
    /// The rate of typing notices of one connection in a room; the hub drops what exceeds it.
    package var typing = Rate(perSecond: 1, burst: 3)

    // Storage quotas; the hub refuses what exceeds them with 4006.

    /// The bytes that one user may publish at once, and again in the course of a day; `Int64.max` means no limit.
    package var userDay: Int64 = 1 << 30
    /// The approximate maximum of bytes of a room's entries; `Int64.max` means no limit.
    package var roomBytes: Int64 = 16 << 30

    // Limits for memory.

    /// The maximum number of frames of a connection that are kept until its identity is known.
    package var heldFrames = 64
    /// The maximum number of bytes in these frames.
    package var heldBytes = 1 << 20
    /// The maximum number of log reads that one connection waits for to answer its joins; further joins wait in a queue.
    ///
    /// The same maximum applies to its pages of history.
    package var fetches = 8
    /// How many of these reads run at once for one connection.
    ///
    /// The limit is small, because the hub learns only later whether the client reads the results.
    package var reads = 2
    /// The maximum number of bytes that all running reads may bring; when it is reached, no more reads start.
    package var readBytes: Int64 = 8 << 20
    /// The maximum number of other pending log requests for one connection, which look up repeated message numbers.
    package var questions = 64
    /// The maximum number of pending log requests for one user, without those for joins.
    package var userQuestions = 128
    /// The maximum number of pending log requests in total; above it, only joins send requests.
    package var allQuestions = 8192
    /// The maximum number of rooms that are open at once; empty rooms are closed to make place for others.
    package var openRooms = 100_000
    /// The maximum number of records of a room that wait for the log.
    package var pendingRecords = 10_000
    /// The maximum number of bytes in these records, and in one append.
    package var pendingBytes: Int64 = 16 << 20
    /// The maximum number of publications of the server itself that wait in a room.
    package var requests = 1024
    /// The number of last entries of a room that are kept in memory, so that most resumes do not read the log.
    package var tailEntries = 64
    /// The maximum number of bytes in these entries.
    package var tailBytes: Int64 = 32 << 10
    /// The maximum number of bytes of the last entries of all rooms; above it, a room that gets a publication keeps none.
    package var allTailBytes: Int64 = 256 << 20
    /// The maximum number of bytes of entries in one frame.
    ///
    /// It is half the size of a frame, because entries may need more space in JSON.
    package var pageBytes: Int64 = 512 << 10
    /// The number of device owners that the hub remembers from answers of the log; it remembers up to about twice as many.
    package var owners = 4096
    /// The maximum number of other nodes with members in one room.
    package var nodes = 64

    // Times.

    /// The time limit from the upgrade to `hello`, and from there to an identity.
    package var helloWithin: Duration = .seconds(10)
    /// How long a room stays closed after its first failed write; doubled for each further failure.
    package var reopenAfter: Duration = .seconds(1)
    /// The maximum of that time.
    package var reopenAtMost: Duration = .seconds(16)
    /// How long an empty room stays open.
    package var releaseAfter: Duration = .seconds(60)
    /// How long a client may be congested before the hub closes the connection with 4002.
    package var slowFor: Duration = .seconds(60)
    /// How long a lost connection is still shown as present.
    package var grace: Duration = .seconds(10)
    /// The interval at which the hub sends changes of presence, and full member lists to clients that join or ask.
    package var gatherPresence: Duration = .seconds(1)
    /// The maximum of that interval, however much is sent to a room.
    package var gatherAtMost: Duration = .seconds(4)
    /// The minimum time for which such an owner is remembered; the maximum is twice as long.
    package var rememberOwners: Duration = .seconds(60)
    /// The interval at which a node sends its segments, if there are other nodes.
    package var heartbeat: Duration = .seconds(2)
    /// The silence after which the segments of a node are dropped.
    package var nodeTimeout: Duration = .seconds(8)
    /// The time after which a client that resends and still leaves out a hole is told about the hole again.
    ///
    /// It is shorter than the client's timeout for an ack.
    package var patience: Duration = .seconds(5)
    /// The range of pauses, in milliseconds, for a client that the hub refused because of too many rooms.
    package var crowded: ClosedRange<Int64> = 5000...15_000
    /// The maximum time until a hub that is shutting down closes its connections.
    package var drain: Duration = .seconds(5)
    /// The range of pauses, in milliseconds, for which clients should stay away when the hub shuts down.
    package var stayAway: ClosedRange<Int64> = 500...5000

    /// Creates the default policy.
    package init() {}
}

/// The counters of a hub.
package struct HubFigures: Hashable, Sendable {
    /// The number of rooms that are open or being opened.
    package var rooms = 0
    /// The number of rooms that accept no publications, because they could not be opened or written.
    package var closedRooms = 0
    /// The number of connections, authenticated or not.
    package var connections = 0
    /// The number of memberships: each connection counts once for each room that it is in.
    package var members = 0
    /// The number of accepted publications, including voids and publications of the server.
    package var published: UInt64 = 0
    /// The number of acks for publications that were written to disk.
    package var acked: UInt64 = 0
    /// The number of publications that were on disk already.
    package var duplicates: UInt64 = 0
    /// The number of holes reported to clients.
    package var holes: UInt64 = 0
    /// The number of entries sent, counted once per member; entries in states count too.
    package var delivered: UInt64 = 0
    /// The number of deliveries of typing notices and signals.
    package var ephemerals: UInt64 = 0
    /// The number of signals, typing notices, read markers and changes of presence that were dropped because a budget was used up.
    package var unsaid: UInt64 = 0
    /// The number of states that replace the entries of the client.
    package var snapshots: UInt64 = 0
    /// The number of states that continue the entries of the client.
    package var resumes: UInt64 = 0
    /// How often a member was told that it lags.
    package var lagged: UInt64 = 0
    /// The number of appends that the log did not confirm.
    package var failedAppends: UInt64 = 0
    /// How often the log of a room turned out to have gone back.
    package var rewound: UInt64 = 0
    /// The number of empty rooms that were closed early to make place for others.
    package var crowdedOut: UInt64 = 0
    /// The number of refusals by code.
    package var refused: [Refusal.Code: UInt64] = [:]
}

/// The counters of one room.
package struct RoomFigures: Hashable, Sendable {
    package var room: RoomName
    /// The number of connections in the room.
    package var members: Int
    /// Entries per second, over the last ten seconds.
    package var pace: Double
}
