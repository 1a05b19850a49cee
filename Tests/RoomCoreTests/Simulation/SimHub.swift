import RoomCore

/// The hub of a simulated world: its log on disk, and its program while it runs.
final class SimHub {
    var life = 0
    var log = SimLog()
    /// Older copies of rooms.
    var backups: [RoomName: SimLog.Room] = [:]
    /// The earlier contents of a room's log, before it went back or got a new epoch.
    var lines: [RoomName: [SimLog.Room]] = [:]
    /// Rooms whose logs went back unnoticed and have no new epoch yet.
    var rewoundUnnoticed: Set<RoomName> = []

    var machine: HubMachine?
    var due: Int64?
    var diesAfter: Int?
    var links: [ConnectionID: SimLink] = [:]
    var jobs: [Job] = []
    var logIsFree: Int64 = 0
    var failsUntil: Int64 = 0
    /// The time until which reads fail, although writes work.
    var readsFailUntil: Int64 = 0
    var clock: Int64 = 0

    enum Job { case order(LogOrder), reply(LogReply) }
}
