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
