import MachineCore

/// The connection to the hub, as a client of rooms sees it.
struct HubLink: Hashable, Sendable {
    enum Phase: Hashable, Sendable {
        /// No connection. → `greeting` or `holding` on `opened`.
        case offline
        /// A connection, but the store is not open yet, or a new device is still being written. → `greeting` once it is, → `offline` on `lost`.
        case holding(token: String?)
        /// `hello` was said. → `welcomed`, → `ended`, → `offline`.
        case greeting(until: Moment)
        /// The hub knows us. → `draining` on `goaway`, → `ended`, → `offline`.
        case welcomed
        /// The hub stops: what is on its way may still be acked. → `ended`, → `offline`.
        case draining(until: Moment, back: Moment)
        /// Its end was ordered: nothing of it counts. → `offline` on `lost`.
        case ended
    }
    var phase = Phase.offline
    var user: UserName?
    var connection = ""
    var limits = RoomsLimits()
    /// A token that came before the welcome.
    var freshToken: String?
    var tokenPace = TokenPace()
    /// When a fresh token is asked for.
    var tokenAt: Moment?

    /// Rooms of this connection's `hello` that were left before the welcome.
    var farewells: [RoomName] = []
    /// Rooms of this connection's `hello` without an answer.
    var resuming: Set<RoomName> = []
    /// Resumes in a row that failed.
    var failedResumes = 0
    /// Whether rooms are joined one after the other.
    var isOneByOne = false
    /// The room that is being joined alone.
    var lone: RoomName?
    /// When the hub answered a join last.
    var lastState = Moment.start

    /// Words that made no sense, within a minute.
    var nonsense = 0
    var nonsenseSince = Moment.start

    /// Whether the hub's words count.
    var listens: Bool {
        switch phase {
        case .greeting, .welcomed, .draining: true
        case .offline, .holding, .ended: false
        }
    }
    /// Whether there is a connection that was not given up.
    var isOpen: Bool { phase != .offline && phase != .ended }
    /// Whether rooms may be joined.
    var isUp: Bool { phase == .welcomed }
}
