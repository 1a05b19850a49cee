/// What a ``PathWatch`` does about the network beyond asking whether the connection lives.
public struct PathPolicy: Hashable, Sendable {
    /// Whether a better path makes a new connection over it, before the old one is dropped.
    public var handsOver: Bool
    /// Whether nothing is tried while the system says that there is no network.
    ///
    /// Turn it off where the system can be wrong, as with a network that only leads to machines nearby.
    public var holdsWhenUnsatisfied: Bool

    /// A policy; by default it stays on a path that works, and waits for a network.
    public init(handsOver: Bool = false, holdsWhenUnsatisfied: Bool = true) {
        (self.handsOver, self.holdsWhenUnsatisfied) = (handsOver, holdsWhenUnsatisfied)
    }
}
