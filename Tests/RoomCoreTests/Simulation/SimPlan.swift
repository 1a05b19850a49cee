import HoldfastTesting
import RoomCore

/// The settings of a world, drawn from a seed: its size, its speed and its faults.
struct SimPlan {
    /// A kind of fault.
    enum Fault: CaseIterable {
        case cut, halfOpen, slowLink
        case clientDies, clientRestored, clientDouble, clientDisk, clientClock
        case hubDies, hubStops, hubDisk, hubReads, hubClock, logTrimmed, logRewound, logGoesBack
        case backup, rights, tokenEnds, timePasses
    }
    var clients = 3
    var rooms = 2
    /// How long faults happen, in milliseconds.
    var hostile: Int64 = 30_000
    /// The faults that happen.
    var faults: [Fault] = []
    /// The mean time between two faults, in milliseconds.
    var faultEvery: Int64 = 1500
    /// The mean time between two actions of an app, in milliseconds.
    var actionEvery: Int64 = 600
    /// The longest delay of a frame.
    var latency: Int64 = 60
    /// The longest time of a transaction, for a client and for the hub.
    var disk: Int64 = 20
    /// The largest number of frames in flight to a client before it is congested.
    var congestion = 12
    /// The number of entries of a room that a client's store keeps.
    ///
    /// Nil means all.
    var keeps: Int64?
    /// Whether frames to a client overtake others, as in the lanes of a slow hub.
    var overtakes = false
    /// Whether frames are encoded as JSON.
    var usesJSON = false
    var hub = HubPolicy()
    /// The number of effects after which the first client's first program is killed, or the hub's.
    var clientDiesAfter: Int?
    var hubDiesAfter: Int?

    /// No faults, two clients, one room.
    init() {}

    init(using random: inout SeededGenerator) {
        clients = Int.random(in: 2...4, using: &random)
        rooms = Int.random(in: 1...3, using: &random)
        hostile = Int64.random(in: 4_000...14_000, using: &random)
        // Each fault happens in half of all worlds, so that no fault always hides another.
        faults = Fault.allCases.filter { _ in Bool.random(using: &random) }
        // A device that the hub has forgotten starts again at 1. An older copy of its store would then use its numbers twice.
        if faults.contains(.timePasses) { faults.removeAll { $0 == .clientRestored || $0 == .clientDouble } }
        faultEvery = [300, 800, 2000].randomElement(using: &random) ?? 800
        actionEvery = [150, 400, 900].randomElement(using: &random) ?? 400
        latency = [2, 40, 300].randomElement(using: &random) ?? 40
        disk = [1, 15, 120].randomElement(using: &random) ?? 15
        congestion = [10, 20, 1000].randomElement(using: &random) ?? 12
        overtakes = Bool.random(using: &random)
        usesJSON = Int.random(in: 0..<8, using: &random) == 0
        hub.limits.page = [2, 5, 500].randomElement(using: &random) ?? 5
        hub.limits.roomWindow = [2, 6, 32].randomElement(using: &random) ?? 6
        hub.limits.window = Bool.random(using: &random) ? 256 : 8
        hub.limits.body = 300
        keeps = [nil, nil, 4].randomElement(using: &random) ?? nil
        // Some pages end because of their bytes, and not because of their entries.
        hub.pageBytes = [700, 2000, 512 << 10].randomElement(using: &random) ?? 2000
        hub.tailEntries = [0, 3, 64].randomElement(using: &random) ?? 3
        if Int.random(in: 0..<4, using: &random) == 0 { hub.connection.messages = .init(perSecond: 10, burst: 8) }
    }
}

/// What a world counts.
///
/// A run fails if something happens too seldom.
enum SimCount: String, CaseIterable, Comparable {
    case cuts, halfOpen = "half-open links", slowLinks = "slow links", lostFrames = "frames lost"
    case clientDeaths = "client deaths", restores, doubles, clientDisk = "transactions lost by clients", clocks = "clock jumps", absences =
        "long absences"
    case doubts = "calendars not trusted"
    case clientLoads = "reads lost by clients", hubReads = "reads lost by the hub", ends = "tokens ended", forgotten
    case hubDeaths = "hub deaths", hubStops = "hub stops", hubDisk = "appends lost by the hub", trims, rewinds, rights
    case unseen = "unnoticed rewinds", found = "rewinds found by proofs"
    case boundaries = "deaths between two effects"
    case connections, acks, duplicates = "duplicate acks", holes, lags, snapshots, resumes, pages = "resumed in pages"
    case renewals, submitted, queued, refused, failed, retried, discarded, history = "history pages", replaced = "replaced connections"
    case congested, overtaken, refusals, unreadable = "publications that could not be read", serverMessages = "messages of the server",
        presence = "changes of presence", typing, signals, reads

    static func < (lhs: SimCount, rhs: SimCount) -> Bool { lhs.rawValue < rhs.rawValue }
}
