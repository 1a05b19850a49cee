import MachineCore

/// A machine whose calls return their effects, with times in whole seconds.
struct Stepper<M: Machine> {
    private(set) var machine: M

    init(_ machine: M) { self.machine = machine }

    mutating func handle(_ input: M.Input, at second: Int) -> [M.Effect] {
        var effects: [M.Effect] = []
        machine.handle(input, at: Moment(.seconds(second)), into: &effects)
        return effects
    }
    mutating func wake(at second: Int) -> [M.Effect] {
        var effects: [M.Effect] = []
        machine.wake(at: Moment(.seconds(second)), into: &effects)
        return effects
    }
}
