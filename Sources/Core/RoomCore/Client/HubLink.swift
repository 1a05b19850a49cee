import MachineCore

/// The connection to the hub, as a rooms client sees it.
struct HubLink: Hashable, Sendable {
    enum Phase: Hashable, Sendable {
        /// No connection. → `greeting` or `holding` on `opened`.
        case offline
        /// A connection exists, but the store is not open, or a new device ID is being written. → `greeting` once it is, → `offline` on `lost`.
        case holding(token: String?)
        /// `hello` was sent. → `welcomed`, → `ended`, → `offline`.
        case greeting(until: Moment)
        /// The hub has accepted the client. → `draining` on `goaway`, → `ended`, → `offline`.
        case welcomed
        /// The hub shuts down: publications in flight may still be acked. → `ended`, → `offline`.
        case draining(until: Moment, back: Moment)
        /// The client has ended the connection and ignores all frames on it. → `offline` on `lost`.
        case ended
    }
    var phase = Phase.offline
    var user: UserName?
    var connection = ""
    var limits = RoomsLimits()
    /// A token that came before the welcome.
    var freshToken: String?
    var tokenPace = TokenPace()
    /// When the client asks the app for a fresh token.
    var tokenAt: Moment?

    /// Rooms in this connection's `hello` that the app left before the welcome.
    var pendingLeaves: [RoomName] = []
    /// Rooms in this connection's `hello` without an answer.
    var resuming: Set<RoomName> = []
    /// The number of failed resumes in a row.
    var failedResumes = 0
    /// Whether rooms are joined one after the other.
    var isOneByOne = false
    /// The room that is being joined separately.
    var lone: RoomName?
    /// When the hub last answered a join.
    var lastState = Moment.start

    /// The number of protocol violations by the hub within a minute.
    var nonsense = 0
    var nonsenseSince = Moment.start

    /// Whether the client accepts frames from the hub.
    var listens: Bool {
        switch phase {
        case .greeting, .welcomed, .draining: true
        case .offline, .holding, .ended: false
        }
    }
    /// Whether there is a connection that the client has not ended.
    var isOpen: Bool { phase != .offline && phase != .ended }
    /// Whether rooms may be joined.
    var isUp: Bool { phase == .welcomed }
}
