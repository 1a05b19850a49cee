/// How much there is of some messages.
public struct SendVolume: Hashable, Sendable {
    /// How many messages.
    public var count: Int
    /// How many bytes they hold together.
    public var bytes: Int

    /// This many messages and bytes.
    public init(count: Int = 0, bytes: Int = 0) { (self.count, self.bytes) = (count, bytes) }

    /// Whether both the messages and the bytes are at most these.
    public func fits(in capacity: SendVolume) -> Bool { count <= capacity.count && bytes <= capacity.bytes }

    static func + (lhs: SendVolume, rhs: SendVolume) -> SendVolume {
        SendVolume(count: lhs.count + rhs.count, bytes: lhs.bytes + rhs.bytes)
    }
    static func - (lhs: SendVolume, rhs: SendVolume) -> SendVolume {
        SendVolume(count: lhs.count - rhs.count, bytes: lhs.bytes - rhs.bytes)
    }
    static func += (lhs: inout SendVolume, rhs: SendVolume) { lhs = lhs + rhs }
    static func -= (lhs: inout SendVolume, rhs: SendVolume) { lhs = lhs - rhs }
}
