/// How much of a room a hub keeps.
///
/// The oldest entries go first. What goes is gone for history; who was away for longer gets a snapshot of the last ones.
public struct RoomRetention: Hashable, Sendable {
    /// Entries per room at most; nil: any number.
    public var count: Int64?
    /// How old an entry may be, in milliseconds; nil: any age.
    public var age: Int64?
    /// Bytes of entries per room at most, as they are stored; nil: any number.
    public var bytes: Int64?
    /// For how long a device that is silent is remembered, in milliseconds; not below the window of the protocol, 90 days.
    public var devices: Int64

    /// How much of a room a hub keeps: usually all, and devices for 90 days.
    public init(count: Int64? = nil, age: Int64? = nil, bytes: Int64? = nil, devices: Int64 = 90 * 86_400_000) {
        (self.count, self.age, self.bytes, self.devices) = (count, age, bytes, devices)
    }
}
