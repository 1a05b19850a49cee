/// A script with its random choices made: a sequence of faults, each with its time, without any clock.
///
/// The same script and seed give the same sequence everywhere. A recurring step makes the sequence infinite.
/// ```swift
/// let plan = FaultPlan(try FaultScript("every 5s..9s cut; at 20s stall 8s"), seed: 1)
/// for next in plan.prefix(10) { print(next.time, next) }
/// ```
public struct FaultPlan: Sequence, IteratorProtocol, Sendable {
    /// A step and its next occurrence.
    private struct Pending {
        let step: FaultStep
        var chance: SeededGenerator
        var next: (time: Duration, length: Duration?)?

        var begins: Duration { next?.time ?? FaultLimits.longest }

        mutating func drawLength() -> Duration? { step.fault.lasts ? step.length?.draw(using: &chance) : nil }
    }
    /// An active fault and when it ends.
    private struct Holding {
        let step: Int
        let fault: Fault
        let until: Duration?

        var ends: Duration { until ?? FaultLimits.longest }
    }

    private var pending: [Pending]
    /// The active faults, in the order in which they began; at most one for each step.
    private var holding: [Holding] = []
    /// Events at the same time as the one returned last.
    private var queue: [PlannedFault] = []

    /// Creates the plan of a script.
    public init(_ script: FaultScript, seed: UInt64) {
        // Each step has its own random generator, so that adding a step does not change the others.
        pending = script.steps.enumerated().map { index, step in
            Pending(step: step, chance: SeededGenerator(seed: seed &+ UInt64(index) &* 0x9E37_79B9_7F4A_7C15))
        }
        var over = Duration.zero
        for index in pending.indices {
            let first = Self.first(&pending[index], after: over)
            pending[index].next = first
            if pending[index].step.interval == nil { over = first.time + (first.length ?? .zero) }
        }
    }

    private static func first(_ pending: inout Pending, after over: Duration) -> (time: Duration, length: Duration?) {
        let time: Duration
        switch pending.step.start {
        case .at(let range): time = range.draw(using: &pending.chance).withinScript
        case .after(let range): time = over + range.draw(using: &pending.chance).withinScript
        case nil: time = pending.step.interval.map { interval($0, &pending.chance) } ?? .zero
        }
        return (time, pending.drawLength())
    }

    private static func interval(_ range: ClosedRange<Duration>, _ chance: inout SeededGenerator) -> Duration {
        Swift.max(range.draw(using: &chance).withinScript, FaultLimits.shortestInterval)
    }

    /// Returns the next event; nil if there are no more.
    public mutating func next() -> PlannedFault? {
        while queue.isEmpty {
            let ending = holding.indices.filter { holding[$0].until != nil }.min { holding[$0].ends < holding[$1].ends }
            let beginning = pending.indices.filter { pending[$0].next != nil }.min { pending[$0].begins < pending[$1].begins }
            switch (ending, beginning) {
            case (nil, nil): return nil
            // If a fault ends and another begins at the same time, the end comes first.
            case (let ending?, let beginning) where beginning.map({ holding[ending].ends <= pending[$0].begins }) ?? true: end(ending)
            case (_, let beginning?): begin(beginning)
            case (_, nil): return nil
            }
        }
        return queue.removeFirst()
    }

    private mutating func begin(_ index: Int) {
        guard let (time, length) = pending[index].next.take() else { return }
        let step = pending[index].step
        if let range = step.interval {
            let next = time + Self.interval(range, &pending[index].chance)
            pending[index].next = (next, pending[index].drawLength())
        }
        holding.removeAll { $0.step == index || step.fault == .heal }
        if step.fault.lasts { holding.append(Holding(step: index, fault: step.fault, until: length.map { time + $0 })) }
        queue.append(PlannedFault(time: time, fault: step.fault, isEnd: false))
    }

    /// Ends a fault, and repeats the other active faults of its kind, because the end may have undone those too.
    private mutating func end(_ index: Int) {
        let ended = holding.remove(at: index)
        queue.append(PlannedFault(time: ended.ends, fault: ended.fault, isEnd: true))
        for other in holding where other.fault.kind == ended.fault.kind {
            queue.append(PlannedFault(time: ended.ends, fault: other.fault, isEnd: false))
        }
    }
}

/// An event of a ``FaultPlan``: a fault that begins or ends, and when.
public struct PlannedFault: Hashable, Sendable, CustomStringConvertible {
    /// The time since the plan began.
    public let time: Duration
    /// The fault that begins or ends.
    public let fault: Fault
    /// Whether the fault ends.
    public let isEnd: Bool

    /// The fault, and whether it ends, such as `end of stall`.
    public var description: String { (isEnd ? "end of " : "") + fault.description }
}
