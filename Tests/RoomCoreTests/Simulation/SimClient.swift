import RoomCore

/// A client of a simulated world: its disk, and its program while it runs.
final class SimClient {
    enum Job { case commit(Int64, [StoreChange]), load(RoomName), void }

    let who: String
    let user: UserName
    /// The number of starts of the program.
    ///
    /// Events that an earlier start planned are ignored.
    var life = 0
    var store: SimStore
    var backup: SimStore?

    // The program.
    var machine: RoomsMachine?
    var due: Int64?
    /// The number of effects until the program is killed.
    var diesAfter: Int?
    var link: SimLink?
    /// Pending jobs of the store.
    var jobs: [Job] = []
    var storeIsFree: Int64 = 0
    /// A transaction has failed, and the program has not been told yet.
    var isVoiding = false
    /// The time until which its disk is full.
    var isFullUntil: Int64 = 0
    /// The error of its clock.
    var clock: Int64 = 0
    /// The time before which it does not connect.
    var reconnectsAt: Int64 = 0
    /// Whether the app is out of use.
    ///
    /// A copied client is put away when its part is done.
    var isAway = false

    // The app.
    var wantedRooms: [RoomName: JoinRequest] = [:]
    var waiting: [(room: RoomName, id: MessageID)] = []
    var failed: [(room: RoomName, id: MessageID, mayRetry: Bool)] = []
    var connection: String?
    var expires: Int64 = 0
    /// The app's view of the rooms that it has joined.
    var rooms: [RoomName: SimRoom] = [:]
    var questions: Int64 = 0
    var messages = 0

    func phase(of room: RoomName) -> RoomPhase? { rooms[room]?.record.status.phase }
    func members(of room: RoomName) -> [String] {
        rooms[room]?.record.status.members.flatMap { member in member.connections.map { "\($0.user)/\($0.connection)" } } ?? []
    }

    init(who: String, user: UserName, store: SimStore) { (self.who, self.user, self.store) = (who, user, store) }
}
