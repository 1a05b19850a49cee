import RoomCore

/// What one connection, one user, or one address may do; whoever does more is told to slow down, and by when.
///
/// All but ``connections`` and ``rooms`` are by the second, and after a pause some seconds' worth is taken at once. Numbers below 1 count as 1, those above
/// 2^30 as 2^30.
public struct HubAllowance: Hashable, Sendable {
    /// Publications a second.
    public var messages: Int64
    /// Bytes of publications a second.
    public var bytes: Int64
    /// Joins a second; each page of a long absence is one.
    public var joins: Int64
    /// Connections at once; without meaning for one connection.
    public var connections: Int64
    /// Rooms in which it may be at once, each counted once; without meaning for one connection, for which `limits.rooms` holds.
    ///
    /// Nobody takes the places of all others in the hub, which has 100,000 rooms open at once.
    public var rooms: Int64

    init(_ allowance: HubPolicy.Allowance) {
        (messages, bytes) = (allowance.messages.perSecond, allowance.bytes.perSecond)
        (joins, connections) = (allowance.joins.perSecond, Int64(allowance.connections))
        rooms = Int64(allowance.rooms)
    }

    /// Puts it into a policy, where what is taken at once stays worth as many seconds as before.
    func apply(to allowance: inout HubPolicy.Allowance) {
        allowance.messages.change(to: Self.fit(messages))
        allowance.bytes.change(to: Self.fit(bytes))
        allowance.joins.change(to: Self.fit(joins))
        allowance.connections = Int(Self.fit(connections))
        allowance.rooms = Int(Self.fit(rooms))
    }

    private static func fit(_ number: Int64) -> Int64 { min(max(number, 1), 1 << 30) }
}

extension HubPolicy.Rate {
    fileprivate mutating func change(to number: Int64) {
        // In floating point, for the product may need more than 64 bits.
        burst = max(1, Int64((Double(burst) * Double(number) / Double(max(perSecond, 1))).rounded()))
        perSecond = number
    }
}
