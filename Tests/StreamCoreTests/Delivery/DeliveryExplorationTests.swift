import HoldfastTesting
import MachineCore
import StreamCore
import Testing

/// Every push and take in every reachable state.
struct DeliveryExplorationTests {
    @Test func `two keys, paced: in every state values are current, on time, complete and in order`() {
        let states = explore(DeliveryProbe(), inputs: [.push("a"), .push("b"), .push("c"), .take], depth: 9) { step in
            let machine = step.after
            #expect(machine.problem == nil, "\(step)")
            // A deadline exists exactly while values wait.
            #expect((machine.deadline == nil) == machine.waiting.isEmpty, "\(step)")
            if case .take = step.input, let deadline = step.before.deadline {
                #expect((step.effects.isEmpty) == (step.now < deadline), "\(step)")
            }
        }
        #expect(states > 50)
    }
}

/// A paced buffer of at most two keys, and a simple list with the same rules.
private struct DeliveryProbe: Machine, Hashable {
    enum Input: Hashable, Sendable {
        case push(Character)
        case take
    }
    struct Tick: Hashable, Sendable {
        let key: Character
        let version: Int
    }

    private var buffer = Paced(LatestByKey<Character, Tick>(limit: 2) { $0.key }, every: .seconds(2))
    private(set) var waiting: [Tick] = []
    private var earliest = Moment.start
    private var version = 0
    private(set) var problem: String?

    var deadline: Moment? { buffer.deadline }

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [Tick]) {
        switch input {
        case .push(let key):
            version += 1
            let tick = Tick(key: key, version: version)
            buffer.push(tick, at: now)
            if let place = waiting.firstIndex(where: { $0.key == key }) {
                waiting[place] = tick
            } else {
                if waiting.count == 2 { waiting.removeFirst() }
                waiting.append(tick)
            }
        case .take:
            let taken = buffer.take(at: now)
            let expected = now < earliest || waiting.isEmpty ? nil : waiting.removeFirst()
            if taken != expected { problem = "took \(String(describing: taken)), not \(String(describing: expected))" }
            guard let taken else { return }
            effects.append(taken)
            earliest = now + .seconds(2)
        }
    }

    mutating func wake(at now: Moment, into effects: inout [Tick]) {}

    // Only the order of versions matters, or every state would be new.
    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.waiting.map(\.key) == rhs.waiting.map(\.key) && lhs.earliest == rhs.earliest && lhs.problem == rhs.problem
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(waiting.map(\.key))
        hasher.combine(earliest)
        hasher.combine(problem)
    }
}
