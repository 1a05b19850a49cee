public import MachineCore

extension Simulation {
    /// Applies an input to the near machine, now.
    @discardableResult
    public mutating func send(_ input: Near.Input) -> [Near.Effect] {
        var effects = Effects()
        driveNear(into: &effects) { $0.handle(input, at: $1, into: &$2) }
        return effects.near
    }

    /// Applies an input to the far machine, now.
    @discardableResult
    public mutating func sendFar(_ input: Far.Input) -> [Far.Effect] {
        var effects = Effects()
        driveFar(into: &effects) { $0.handle(input, at: $1, into: &$2) }
        return effects.far
    }

    /// Loses everything that is under way, as a cut does.
    public mutating func cut() { (outbound, inbound) = ([], []) }

    mutating func driveNear(into effects: inout Effects, _ body: (inout Near, Moment, inout [Near.Effect]) -> Void) {
        let known = effects.near.count
        body(&near, now, &effects.near)
        for input in effects.near[known...].compactMap(outward) where !isLost() {
            outbound.append((max(now + delay, outbound.last?.lands ?? now), input))
        }
    }

    mutating func driveFar(into effects: inout Effects, _ body: (inout Far, Moment, inout [Far.Effect]) -> Void) {
        let known = effects.far.count
        body(&far, now, &effects.far)
        for input in effects.far[known...].compactMap(inward) where !isLost() {
            inbound.append((max(now + delay, inbound.last?.lands ?? now), input))
        }
    }
}
