public import MachineCore

/// Two machines on a link that is slow and loses things.
///
/// No tasks and no clock: time jumps straight to whatever happens next. An effect of one machine that the link carries becomes an input of the other, `delay` later. Each direction keeps its order, as TCP does.
/// ```swift
/// var world = Simulation(client, server) { effect in request(of: effect) } inward: { effect in reply(of: effect) }
/// world.isLost = { Bool.random(using: &random) }
/// world.send(.start)
/// let news = world.run(until: Moment(.seconds(3600)))
/// ```
public struct Simulation<Near: Machine, Far: Machine> {
    /// What the two machines made of what happened.
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
    /// Where time stands.
    public private(set) var now = Moment.start
    /// How long the next crossing takes; what is under way in the same direction is never overtaken.
    public var delay: Duration = .milliseconds(50)
    /// Decides which crossings are lost: seed it, and a failure replays exactly.
    public var isLost: () -> Bool = { false }

    /// On the way to the far end, and to the near one; the first to land is first.
    var outbound: [(lands: Moment, input: Far.Input)] = []
    var inbound: [(lands: Moment, input: Near.Input)] = []
    let outward: (Near.Effect) -> Far.Input?
    let inward: (Far.Effect) -> Near.Input?

    /// Two machines and what the link carries between them.
    ///
    /// - Parameters:
    ///   - near: The machine at this end.
    ///   - far: The machine at the other end.
    ///   - outward: What the far end gets from an effect of the near one; nil for what does not cross.
    ///   - inward: What the near end gets from an effect of the far one; nil for what does not cross.
    public init(_ near: Near, _ far: Far, outward: @escaping (Near.Effect) -> Far.Input?, inward: @escaping (Far.Effect) -> Near.Input?) {
        (self.near, self.far, self.outward, self.inward) = (near, far, outward, inward)
    }

    /// Moves to the next arrival or deadline; nil once nothing is left to happen.
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

    /// Lets everything happen that is due by `end`, then moves time there.
    public mutating func run(until end: Moment) -> Effects {
        var all = Effects()
        while let next = nextMoment, next <= end, let effects = step() {
            all.near += effects.near
            all.far += effects.far
        }
        now = max(now, end)
        return all
    }

    /// When the next thing happens.
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
