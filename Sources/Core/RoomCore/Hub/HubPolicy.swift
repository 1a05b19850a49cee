/// All limits and times of a hub.
package struct HubPolicy: Hashable, Sendable {
    /// So many a second, and so many at once after a pause.
    package struct Rate: Hashable, Sendable {
        package var perSecond: Int64
        package var burst: Int64

        package init(perSecond: Int64, burst: Int64) { (self.perSecond, self.burst) = (perSecond, burst) }
    }
    /// What one connection, one user, or one address may do.
    package struct Allowance: Hashable, Sendable {
        /// Publications.
        package var messages: Rate
        /// Bytes of publications.
        package var bytes: Rate
        /// Joins, and what costs as much: each page of a long absence and of history, a change of presence, a question who is present,
        /// a fresh token; one with other grants costs one more for every 50 rooms.
        package var joins: Rate
        /// Bytes of signals, typing, read markers and changes of presence; more are not told.
        package var ephemeral: Rate
        /// Bytes of entries that are told because they are asked for, in states and pages; the one that goes beyond is told.
        package var pages: Rate
        /// Connections at once; without meaning for one connection.
        package var connections: Int
        /// Rooms at once, each counted once; beyond them 4003.
        ///
        /// For one connection ``RoomsLimits/rooms`` holds.
        package var rooms: Int

        package init(messages: Rate, bytes: Rate, joins: Rate, ephemeral: Rate, pages: Rate, connections: Int, rooms: Int) {
            (self.messages, self.bytes, self.joins, self.ephemeral) = (messages, bytes, joins, ephemeral)
            (self.pages, self.connections, self.rooms) = (pages, connections, rooms)
        }
    }

    /// What clients are told that they may send.
    package var limits = RoomsLimits()

    // Rates; beyond them 4001.

    /// What one connection may do.
    ///
    /// Its burst holds a whole window sent twice, and a hello with all rooms.
    package var connection = Allowance(
        messages: Rate(perSecond: 200, burst: 1024), bytes: Rate(perSecond: 2 << 20, burst: 16 << 20),
        joins: Rate(perSecond: 100, burst: 2048), ephemeral: Rate(perSecond: 32 << 10, burst: 128 << 10),
        pages: Rate(perSecond: 4 << 20, burst: 32 << 20), connections: 1, rooms: 1000)
    /// What one user may do with all connections.
    package var user = Allowance(
        messages: Rate(perSecond: 500, burst: 4096), bytes: Rate(perSecond: 8 << 20, burst: 64 << 20),
        joins: Rate(perSecond: 400, burst: 8192), ephemeral: Rate(perSecond: 64 << 10, burst: 256 << 10),
        pages: Rate(perSecond: 8 << 20, burst: 64 << 20), connections: 64, rooms: 4096)
    /// What one address may do: many may sit behind it.
    package var address = Allowance(
        messages: Rate(perSecond: 5000, burst: 20_000), bytes: Rate(perSecond: 64 << 20, burst: 256 << 20),
        joins: Rate(perSecond: 10_000, burst: 100_000), ephemeral: Rate(perSecond: 2 << 20, burst: 8 << 20),
        pages: Rate(perSecond: 64 << 20, burst: 256 << 20), connections: 20_000, rooms: 20_000)
    /// Frames of all kinds of one connection, refused ones too; beyond it is closed with 4003.
    package var frames = Rate(perSecond: 2000, burst: 8000)
    /// Signals, words on typing and read markers of one connection; more are not told.
    package var signals = Rate(perSecond: 30, burst: 60)
    /// Deliveries of typing and signals in one room; more are dropped.
    package var ephemerals = Rate(perSecond: 100_000, burst: 200_000)
    /// Bytes that one user may make the hub tell of what nobody stores: their length times those who hear it; more is dropped.
    ///
    /// Who is present, which is told to one who comes or asks, waits for it, and for the next two.
    package var userDeliveries = Rate(perSecond: 4 << 20, burst: 16 << 20)
    /// The same of one room; changes of presence wait for it, but not for long.
    package var roomDeliveries = Rate(perSecond: 16 << 20, burst: 32 << 20)
    /// The same of the whole hub.
    package var deliveries = Rate(perSecond: 64 << 20, burst: 128 << 20)
    /// What one connection may say in a room about typing; more is dropped.
    package var typing = Rate(perSecond: 1, burst: 3)

    // Quotas of what is stored; beyond them 4006.

    /// Bytes that one user may publish at once, and again in the course of a day; `Int64.max` is any number.
    package var userDay: Int64 = 1 << 30
    /// Bytes of a room's entries, about; `Int64.max` is any number.
    package var roomBytes: Int64 = 16 << 30

    // Bounds of memory.

    /// Frames of a connection that are kept until its identity is known.
    package var heldFrames = 64
    /// Bytes of them.
    package var heldBytes = 1 << 20
    /// Reads of the log that one connection waits for to answer its joins; others wait in line.
    ///
    /// As many pages of history it may wait for.
    package var fetches = 8
    /// Of these, reads that are under way at once for one connection: what comes is not known to be read by it before it says so.
    package var reads = 2
    /// Bytes that all reads under way may bring; once it is reached no more begin.
    package var readBytes: Int64 = 8 << 20
    /// Other questions to the log that are open for one connection: what was stored under a number that came again.
    package var questions = 64
    /// Questions that are open for one user, but for those of joins.
    package var userQuestions = 128
    /// Questions that are open in all; beyond them only joins ask.
    package var allQuestions = 8192
    /// Rooms open at once; those that nobody is in make way for others.
    package var openRooms = 100_000
    /// Records of a room that wait for the log.
    package var pendingRecords = 10_000
    /// Bytes of them, and of one append.
    package var pendingBytes: Int64 = 16 << 20
    /// Publications of the server's own that wait in a room.
    package var requests = 1024
    /// The last entries of a room that are kept in memory, so that most resumes ask nothing of the log.
    package var tailEntries = 64
    /// Bytes of them.
    package var tailBytes: Int64 = 32 << 10
    /// Bytes of the last entries of all rooms: beyond it a room in which something is published keeps none.
    package var allTailBytes: Int64 = 256 << 20
    /// Bytes of entries in one frame.
    ///
    /// JSON may need more room for them, hence half a frame.
    package var pageBytes: Int64 = 512 << 10
    /// Owners that the log has named to those who came with their devices; about twice as many are remembered.
    package var owners = 4096
    /// Other nodes with members in one room.
    package var nodes = 64

    // Times.

    /// From the upgrade to `hello`, and from there to an identity.
    package var helloWithin: Duration = .seconds(10)
    /// How long a room that could not be written stays closed, the first time; doubled for each further one.
    package var reopenAfter: Duration = .seconds(1)
    /// And at most.
    package var reopenAtMost: Duration = .seconds(16)
    /// How long a room stays open when nobody is in it.
    package var releaseAfter: Duration = .seconds(60)
    /// How long a client may be congested before it is closed with 4002.
    package var slowFor: Duration = .seconds(60)
    /// How long a lost connection is shown as present.
    package var grace: Duration = .seconds(10)
    /// How far apart changes of presence are told, and all who are present to those who come or ask.
    package var gatherPresence: Duration = .seconds(1)
    /// How far apart they are at most, however much a room is told.
    package var gatherAtMost: Duration = .seconds(4)
    /// How long such an owner is remembered, at least; twice as long at most.
    package var rememberOwners: Duration = .seconds(60)
    /// How often a node tells its segments, if there are others.
    package var heartbeat: Duration = .seconds(2)
    /// After how long the segments of a silent node are dropped.
    package var nodeTimeout: Duration = .seconds(8)
    /// After how long a hole is told again to a client that sends again and still leaves it out; less than it waits for an ack.
    package var patience: Duration = .seconds(5)
    /// The range of times, in milliseconds, after which one that found too many rooms may ask again.
    package var crowded: ClosedRange<Int64> = 5000...15_000
    /// A hub that stops closes its connections after this at the latest.
    package var drain: Duration = .seconds(5)
    /// The range of times that clients are told to stay away when the hub stops.
    package var stayAway: ClosedRange<Int64> = 500...5000

    /// The usual policy.
    package init() {}
}

/// What a hub counts.
package struct HubFigures: Hashable, Sendable {
    /// Rooms that are open or being opened.
    package var rooms = 0
    /// Rooms that take no publications, because they could not be opened or written.
    package var closedRooms = 0
    /// Connections, known or not yet.
    package var connections = 0
    /// Connections in rooms, each as often as it is in one.
    package var members = 0
    /// Publications that were taken, voids and the server's own too.
    package var published: UInt64 = 0
    /// Acks of publications that went to disk.
    package var acked: UInt64 = 0
    /// Publications that were on disk already.
    package var duplicates: UInt64 = 0
    /// Holes that were told.
    package var holes: UInt64 = 0
    /// Entries handed to members, each as often as there are members; those of states count too.
    package var delivered: UInt64 = 0
    /// Deliveries of typing and signals.
    package var ephemerals: UInt64 = 0
    /// Signals, words on typing, read markers and changes of presence that were not told, because a budget was used up.
    package var unsaid: UInt64 = 0
    /// States that replace what the client has.
    package var snapshots: UInt64 = 0
    /// States that follow what the client has.
    package var resumes: UInt64 = 0
    /// How often a member was told that it lags.
    package var lagged: UInt64 = 0
    /// Appends that were not confirmed.
    package var failedAppends: UInt64 = 0
    /// How often the log of a room was found to have gone back.
    package var rewound: UInt64 = 0
    /// Rooms that nobody was in and that were let go before their time, because others needed their places.
    package var crowdedOut: UInt64 = 0
    /// What was refused.
    package var refused: [Refusal.Code: UInt64] = [:]
}

/// What a hub knows of one room.
package struct RoomFigures: Hashable, Sendable {
    package var room: RoomName
    /// Connections in it.
    package var members: Int
    /// Entries a second, of the last ten seconds.
    package var pace: Double
}
