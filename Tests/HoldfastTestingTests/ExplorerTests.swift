import HoldfastTesting
import MachineCore
import Testing

/// A lamp that turns off three seconds after the last press.
private struct Lamp: Machine, Hashable {
    enum Input { case press }
    enum Effect { case on, off }
    private(set) var deadline: Moment?

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        if deadline == nil { effects.append(.on) }
        deadline = now + .seconds(3)
    }
    mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        effects.append(.off)
        self.deadline = nil
    }
}

@Suite struct ExplorerTests {
    @Test func `the explorer tries every input and every passing of time in every state`() {
        var edges: Set<String> = []
        // The states: dark; last pressed at 0, 1, 2, 3 or 4 seconds.
        let states = explore(Lamp(), inputs: [.press], depth: 4) { step in
            edges.insert("\(step.before.deadline == nil ? "dark" : "lit") \(step.input == nil ? "time" : "press") \(step.effects)")
            #expect(step.path.count <= 4)
        }
        #expect(states == 6)
        #expect(edges.count == 5, "\(edges)")
    }

    @Test func `the description of an edge lists the steps that lead to it`() throws {
        var pathDescription: String?
        explore(Lamp(), inputs: [.press], depth: 2) { step in
            if step.effects.contains(.off) { pathDescription = step.description }
        }
        let description = try #require(pathDescription)
        #expect(description.hasPrefix("0.0 seconds: press\n3.0 seconds: time passed\neffects: ["), "\(description)")
    }

    @Test func `an error that the check throws ends the search`() {
        struct Found: Error {}
        #expect(throws: Found.self) { try explore(Lamp(), inputs: [.press], depth: 9) { _ in throw Found() } }
    }
}
