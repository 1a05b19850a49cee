/// What a ``FaultPlan`` has happen next, and when.
public struct PlannedFault: Hashable, Sendable, CustomStringConvertible {
    /// How long after the plan began.
    public let time: Duration
    /// What begins, or ends.
    public let fault: Fault
    /// Whether the fault ends.
    public let isEnd: Bool

    /// The fault, and whether it ends, such as `end of stall`.
    public var description: String { (isEnd ? "end of " : "") + fault.description }
}
