/// How much a hub stores; whoever publishes more is told to wait (4006), and nothing is lost.
///
/// All numbers are bytes, and about what the disk holds: each publication counts as 320 bytes and its content. nil is any number.
public struct HubQuotas: Hashable, Sendable {
    /// What one user may publish at once, and again in the course of a day; 1 GiB.
    ///
    /// It does not hold for what the server itself publishes. A hub that starts again counts from 0.
    public var userPerDay: Int64?
    /// What one room may hold; 16 GiB.
    ///
    /// What retention takes away makes room.
    public var room: Int64?
    /// What the files of the log may take; any number.
    public var total: Int64?
    /// What is left free on the log's disk; 256 MiB.
    public var free: Int64

    /// Quotas; the usual ones without arguments.
    public init(userPerDay: Int64? = 1 << 30, room: Int64? = 16 << 30, total: Int64? = nil, free: Int64 = 256 << 20) {
        func known(_ number: Int64?) -> Int64? { number == .max ? nil : number }
        (self.userPerDay, self.room, self.total, self.free) = (known(userPerDay), known(room), known(total), free)
    }
}
