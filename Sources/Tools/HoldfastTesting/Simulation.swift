public import MachineCore

/// A simulation of two machines on a slow, lossy link.
///
/// It uses no tasks and no clock: time jumps to the next event. An effect of one machine that the link carries becomes an input of the
/// other machine after `delay`. Each direction keeps its order, as TCP does.
/// ```swift
/// var world = Simulation(client, server) { effect in request(of: effect) } inward: { effect in reply(of: effect) }
/// world.isLost = { Bool.random(using: &random) }
/// world.send(.start)
/// let news = world.run(until: Moment(.seconds(3600)))
/// ```
public struct Simulation<Near: Machine, Far: Machine> {
    /// The effects of the two machines.
    public struct Effects {
        /// The near machine's effects, in order.
        public var near: [Near.Effect] = []
        /// The far machine's effects, in order.
        public var far: [Far.Effect] = []
    }

    /// The machine at this end.
    public internal(set) var near: Near
    /// The machine at the other end.
    public internal(set) var far: Far
    /// The current simulated time.
    public private(set) var now = Moment.start
    /// The time that the next crossing takes; data never overtakes earlier data in the same direction.
    public var delay: Duration = .milliseconds(50)
    /// Decides which crossings are lost; with a seeded generator, a failure replays exactly.
    public var isLost: () -> Bool = { false }

    /// Inputs in transit to the far end and to the near end, in order of arrival.
    var outbound: [(lands: Moment, input: Far.Input)] = []
    var inbound: [(lands: Moment, input: Near.Input)] = []
    let outward: (Near.Effect) -> Far.Input?
    let inward: (Far.Effect) -> Near.Input?

    /// Creates a simulation of two machines and the link between them.
    ///
    /// - Parameters:
    ///   - near: The machine at this end.
    ///   - far: The machine at the other end.
    ///   - outward: Turns an effect of the near machine into an input of the far one; nil for effects that do not cross the link.
    ///   - inward: Turns an effect of the far machine into an input of the near one; nil for effects that do not cross the link.
    public init(_ near: Near, _ far: Far, outward: @escaping (Near.Effect) -> Far.Input?, inward: @escaping (Far.Effect) -> Near.Input?) {
        (self.near, self.far, self.outward, self.inward) = (near, far, outward, inward)
    }

    /// Moves to the next arrival or deadline; returns nil if nothing is left to happen.
    public mutating func step() -> Effects? {
        guard let next = nextMoment else { return nil }
        now = max(now, next)
        var effects = Effects()
        if let flight = outbound.first, flight.lands <= now {
            outbound.removeFirst()
            driveFar(into: &effects) { $0.handle(flight.input, at: $1, into: &$2) }
        } else if let flight = inbound.first, flight.lands <= now {
            inbound.removeFirst()
            driveNear(into: &effects) { $0.handle(flight.input, at: $1, into: &$2) }
        } else {
            driveFar(into: &effects) { $0.wake(at: $1, into: &$2) }
            driveNear(into: &effects) { $0.wake(at: $1, into: &$2) }
        }
        return effects
    }

    /// Runs everything that is due by `end`, then moves the time there.
    public mutating func run(until end: Moment) -> Effects {
        var all = Effects()
        while let next = nextMoment, next <= end, let effects = step() {
            all.near += effects.near
            all.far += effects.far
        }
        now = max(now, end)
        return all
    }

    /// The time of the next event.
    private var nextMoment: Moment? {
        .earliest(outbound.first?.lands, inbound.first?.lands, near.deadline, far.deadline)
    }

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

    /// Drops everything in transit, as a cut does.
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
