import RoomCore

/// The hub of a simulated world: its log on disk, and its program, if it runs.
final class SimHub {
    var life = 0
    var log = SimLog()
    /// Older copies of rooms.
    var backups: [RoomName: SimLog.Room] = [:]
    /// What the logs of a room were before they went back or had another epoch.
    var lines: [RoomName: [SimLog.Room]] = [:]
    /// Rooms that went back so, and have had no new epoch since.
    var astray: Set<RoomName> = []

    var machine: HubMachine?
    var due: Int64?
    var diesAfter: Int?
    var links: [ConnectionID: SimLink] = [:]
    var jobs: [Job] = []
    var logIsFree: Int64 = 0
    var failsUntil: Int64 = 0
    /// Until when nothing can be read, though it can be written.
    var isBlindUntil: Int64 = 0
    var clock: Int64 = 0

    enum Job { case order(LogOrder), reply(LogReply) }
}
