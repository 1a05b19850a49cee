/// The storage quotas of a hub; a client beyond a quota is told to wait (4006), and nothing is lost.
///
/// All numbers are bytes, close to what the disk holds: each publication counts as 320 bytes plus its content. nil means no limit.
public struct HubQuotas: Hashable, Sendable {
    /// What one user may publish at once, and again over the course of a day; 1 GiB by default.
    ///
    /// This does not apply to publications of the server itself. A restarted hub counts from 0.
    public var userPerDay: Int64?
    /// What one room may hold; 16 GiB by default.
    ///
    /// Entries that retention deletes make room.
    public var room: Int64?
    /// What the files of the log may take; no limit by default.
    public var total: Int64?
    /// What stays free on the log's disk; 256 MiB by default.
    public var free: Int64

    /// Creates quotas; without arguments, the defaults.
    public init(userPerDay: Int64? = 1 << 30, room: Int64? = 16 << 30, total: Int64? = nil, free: Int64 = 256 << 20) {
        func known(_ number: Int64?) -> Int64? { number == .max ? nil : number }
        (self.userPerDay, self.room, self.total, self.free) = (known(userPerDay), known(room), known(total), free)
    }
}
