public import MachineCore

/// One edge of a machine's state graph.
public struct Step<M: Machine>: CustomStringConvertible {
    /// The machine before the edge.
    public let before: M
    /// What happened; nil: time passed.
    public let input: M.Input?
    /// When it happened.
    public let now: Moment
    /// What the machine made of it.
    public let effects: [M.Effect]
    /// The machine after the edge.
    public let after: M
    /// What happened on the way here, this edge included; nil where time passed.
    public let path: [(input: M.Input?, at: Moment)]

    /// The path and the effects, for the message of a failed expectation.
    public var description: String {
        let events = path.map { event in "\(event.at.offset): \(event.input.map { "\($0)" } ?? "time passed")" }
        return (events + ["effects: \(effects)"]).joined(separator: "\n")
    }
}

/// Applies every input in every reachable state, `depth` steps deep, and checks every edge.
///
/// From each state, every input happens at once, and time passes: by `tick`, and to the machine's deadline.
/// A state seen before at the same moment is not entered again, so a small machine is covered completely.
///
/// - Parameters:
///   - initial: Where it starts, at `Moment.start`.
///   - inputs: What can happen.
///   - depth: How many edges make the longest path.
///   - tick: How far a step of time goes.
///   - check: Called with every edge; what it throws ends the search.
/// - Returns: How many different states were found.
@discardableResult
public func explore<M: Machine & Hashable>(
    _ initial: M, inputs: [M.Input], depth: Int, tick: Duration = .seconds(1), check: (Step<M>) throws -> Void
) rethrows -> Int {
    typealias Path = [(input: M.Input?, at: Moment)]
    let start = Place(machine: initial, now: .start)
    var seen: Set<Place<M>> = [start]
    var states: Set<M> = [initial]
    var frontier: [(place: Place<M>, path: Path)] = [(start, [])]
    for _ in 0..<max(depth, 0) {
        var discovered: [(place: Place<M>, path: Path)] = []
        for (place, path) in frontier {
            let moments = Set([place.now + tick, place.machine.deadline.map { max($0, place.now) }].compactMap(\.self)).sorted()
            for (input, now) in inputs.map({ ($0, place.now) }) + moments.map({ (nil, $0) }) {
                var after = place.machine
                var effects: [M.Effect] = []
                if let input { after.handle(input, at: now, into: &effects) } else { after.wake(at: now, into: &effects) }
                let path = path + [(input, now)]
                try check(Step(before: place.machine, input: input, now: now, effects: effects, after: after, path: path))
                states.insert(after)
                let next = Place(machine: after, now: now)
                if seen.insert(next).inserted { discovered.append((next, path)) }
            }
        }
        frontier = discovered
    }
    return states.count
}

/// A state and when it was met: the same state can behave differently at another time.
private struct Place<M: Machine & Hashable>: Hashable {
    let machine: M
    let now: Moment
}
