public import MachineCore

/// One transition in a machine's state graph.
public struct Step<M: Machine>: CustomStringConvertible {
    /// The machine before the transition.
    public let before: M
    /// The input that was applied; nil if time passed instead.
    public let input: M.Input?
    /// The moment of the transition.
    public let now: Moment
    /// The effects that the machine returned.
    public let effects: [M.Effect]
    /// The machine after the transition.
    public let after: M
    /// All inputs from the initial state to here, including this transition; nil where time passed.
    public let path: [(input: M.Input?, at: Moment)]

    /// The path and the effects, for the message of a failed expectation.
    public var description: String {
        let events = path.map { event in "\(event.at.offset): \(event.input.map { "\($0)" } ?? "time passed")" }
        return (events + ["effects: \(effects)"]).joined(separator: "\n")
    }
}

/// Applies every input in every reachable state, up to `depth` steps deep, and checks every transition.
///
/// In each state, the function applies every input at the current moment. It also lets time pass: by `tick`, and to the deadline.
/// A state that was already visited at the same moment is not visited again, so a small machine is covered completely.
///
/// - Parameters:
///   - initial: The initial state, at `Moment.start`.
///   - inputs: The possible inputs.
///   - depth: The maximum number of transitions in a path.
///   - tick: How much time passes in one step.
///   - check: Called with every transition; an error that it throws ends the search.
/// - Returns: The number of different states found.
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

/// A state and the moment when it was reached: the same state can behave differently at another time.
private struct Place<M: Machine & Hashable>: Hashable {
    let machine: M
    let now: Moment
}
