import RoomCore

/// A client of a simulated world: what is on its disk, and its program, if it runs.
final class SimClient {
    enum Job { case commit(Int64, [StoreChange]), load(RoomName), void }

    let who: String
    let user: UserName
    /// Counts the starts of the program: what an earlier one has planned is void.
    var life = 0
    var store: SimStore
    var backup: SimStore?

    // The program.
    var machine: RoomsMachine?
    var due: Int64?
    /// How many effects are carried out before the program dies.
    var diesAfter: Int?
    var link: SimLink?
    /// The store's work that is ordered and not done.
    var jobs: [Job] = []
    var storeIsFree: Int64 = 0
    /// A transaction has failed, and the program has not heard of it.
    var isVoiding = false
    /// Until when its disk is full.
    var isFullUntil: Int64 = 0
    /// How wrong its clock is.
    var clock: Int64 = 0
    /// Not before then is a connection made.
    var barredUntil: Int64 = 0
    /// Whether the app is used at all; a double that has done its part is put away.
    var isAway = false

    // The app.
    var wishes: [RoomName: JoinRequest] = [:]
    var waiting: [(room: RoomName, id: MessageID)] = []
    var failed: [(room: RoomName, id: MessageID, mayRetry: Bool)] = []
    var connection: String?
    var expires: Int64 = 0
    /// What it sees of the rooms that it has joined.
    var rooms: [RoomName: SimRoom] = [:]
    var questions: Int64 = 0
    var messages = 0

    func phase(of room: RoomName) -> RoomPhase? { rooms[room]?.record.status.phase }
    func members(of room: RoomName) -> [String] {
        rooms[room]?.record.status.members.flatMap { member in member.connections.map { "\($0.user)/\($0.connection)" } } ?? []
    }

    init(who: String, user: UserName, store: SimStore) { (self.who, self.user, self.store) = (who, user, store) }
}
