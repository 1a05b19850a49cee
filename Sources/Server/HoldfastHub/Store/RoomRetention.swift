/// How much of a room a hub keeps.
///
/// The oldest entries are deleted first. Deleted entries are missing from the history; a client that was away for longer gets a snapshot
/// of the last entries.
public struct RoomRetention: Hashable, Sendable {
    /// The maximum number of entries per room; nil: no limit.
    public var count: Int64?
    /// The maximum age of an entry, in milliseconds; nil: no limit.
    public var age: Int64?
    /// The maximum number of bytes of entries per room, as they are stored; nil: no limit.
    public var bytes: Int64?
    /// How long a silent device is remembered, in milliseconds; not below the protocol's window of 90 days.
    public var devices: Int64

    /// Creates a retention; by default it keeps all entries, and devices for 90 days.
    public init(count: Int64? = nil, age: Int64? = nil, bytes: Int64? = nil, devices: Int64 = 90 * 86_400_000) {
        (self.count, self.age, self.bytes, self.devices) = (count, age, bytes, devices)
    }
}

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
