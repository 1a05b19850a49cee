import HoldfastTesting
import RoomCore

/// What a seed makes of a world: how many are in it, how fast it is, and which misfortunes happen.
struct SimPlan {
    /// A misfortune.
    enum Fault: CaseIterable {
        case cut, halfOpen, slowLink
        case clientDies, clientRestored, clientDouble, clientDisk, clientClock
        case hubDies, hubStops, hubDisk, hubReads, hubClock, logTrimmed, logRewound, logGoesBack
        case backup, rights, tokenEnds, timePasses
    }
    var clients = 3
    var rooms = 2
    /// How long the world is hostile, in milliseconds.
    var hostile: Int64 = 30_000
    /// Which faults happen.
    var faults: [Fault] = []
    /// The mean time between two of them, in milliseconds.
    var faultEvery: Int64 = 1500
    /// The mean time between two things that an app does.
    var actionEvery: Int64 = 600
    /// How long a frame takes at most.
    var latency: Int64 = 60
    /// How long a transaction of a client takes at most, and one of the hub.
    var disk: Int64 = 20
    /// More frames on the way to a client than this are too many.
    var congestion = 12
    /// How many entries of a room a client's store keeps; nil: all.
    var keeps: Int64?
    /// Whether frames to a client overtake others, as they do in the hub's lanes when it is slow.
    var overtakes = false
    /// Whether frames cross as JSON.
    var usesJSON = false
    var hub = HubPolicy()
    /// After how many effects the first program of the first client dies, or that of the hub.
    var clientDiesAfter: Int?
    var hubDiesAfter: Int?

    /// No faults, two clients, one room.
    init() {}

    init(using random: inout SeededGenerator) {
        clients = Int.random(in: 2...4, using: &random)
        rooms = Int.random(in: 1...3, using: &random)
        hostile = Int64.random(in: 4_000...14_000, using: &random)
        // Each fault in half of all worlds, so that there are worlds without those that hide others.
        faults = Fault.allCases.filter { _ in Bool.random(using: &random) }
        // A device that the hub has forgotten begins anew with 1: a copy of its store from before would give its numbers twice.
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
        // Some pages end because they are long, and not because they hold many.
        hub.pageBytes = [700, 2000, 512 << 10].randomElement(using: &random) ?? 2000
        hub.tailEntries = [0, 3, 64].randomElement(using: &random) ?? 3
        if Int.random(in: 0..<4, using: &random) == 0 { hub.connection.messages = .init(perSecond: 10, burst: 8) }
    }
}

/// What is counted in a world, so that no run passes in which nothing happened.
enum SimCount: String, CaseIterable, Comparable {
    case cuts, halfOpen = "half-open links", slowLinks = "slow links", lostFrames = "frames lost"
    case clientDeaths = "client deaths", restores, doubles, clientDisk = "transactions lost by clients", clocks = "clock jumps", absences =
        "long absences"
    case doubts = "calendars not believed"
    case clientLoads = "readings that clients lost", hubReads = "readings that the hub lost", ends = "tokens ended", forgotten
    case hubDeaths = "hub deaths", hubStops = "hub stops", hubDisk = "appends lost by the hub", trims, rewinds, rights
    case unseen = "rewinds that nobody told of", found = "rewinds that proofs have shown"
    case boundaries = "deaths between two effects"
    case connections, acks, duplicates = "duplicate acks", holes, lags, snapshots, resumes, pages = "resumed in pages"
    case renewals, submitted, queued, refused, failed, retried, discarded, history = "history pages", replaced = "replaced connections"
    case congested, overtaken, refusals, unreadable = "publications that could not be read", serverMessages = "messages of the server",
        presence = "changes of presence", typing, signals, reads

    static func < (lhs: SimCount, rhs: SimCount) -> Bool { lhs.rawValue < rhs.rawValue }
}
