/// What a benchmark does, and for how long.
struct BenchPlan: Hashable, Sendable {
    static let mostConnections = 10_000
    static let mostDepth = 65_536
    static let mostSize = 64 << 20
    static let mostRate = 10_000_000.0
    /// What all connections together may have in flight, in bytes.
    static let mostInFlight = 1 << 30

    /// Why there is no such plan.
    struct Problem: Error, Hashable, CustomStringConvertible { let description: String }

    let connections: Int
    /// Messages in flight on each connection, at most.
    let depth: Int
    let payload: Payload
    /// Messages per second in total; nil: as fast as the replies come.
    let rate: Double?
    let warmUp: Duration
    let duration: Duration
    /// How long to wait for replies after the end.
    let wait: Duration

    /// Makes a plan; without a depth one message is in flight, or with a rate as many as may be needed to keep it.
    init(
        connections: Int, depth: Int?, kind: PayloadKind, size: Int, rate: Double?, warmUp: Duration, duration: Duration, wait: Duration
    ) throws(Problem) {
        guard 1...Self.mostConnections ~= connections else {
            throw Problem(description: "--connections: use 1 to \(Self.mostConnections).")
        }
        guard 0...Self.mostSize ~= size else { throw Problem(description: "--size: use 0 to \(Self.mostSize) bytes (64M).") }
        if let rate, !(rate > 0 && rate <= Self.mostRate) {
            throw Problem(description: "--rate: use more than 0, and at most \(Int(Self.mostRate)) messages per second.")
        }
        let affordable = Self.mostInFlight / (connections * max(size, 1))
        let depth = depth ?? (rate == nil ? 1 : max(1, min(1024, affordable)))
        guard 1...Self.mostDepth ~= depth else { throw Problem(description: "--depth: use 1 to \(Self.mostDepth).") }
        guard depth <= affordable else {
            throw Problem(description: "connections × depth × size is more than 1 GiB in flight; use less of one of them.")
        }
        guard duration > .zero else { throw Problem(description: "--duration: use more than 0 seconds.") }
        (self.connections, self.depth, self.rate) = (connections, depth, rate)
        payload = Payload(kind: kind, size: size)
        (self.warmUp, self.duration, self.wait) = (warmUp, duration, wait)
    }

    /// When the last message may leave, counted from the start.
    var end: Duration { warmUp + duration }

    /// Whether what happens at this time is measured.
    func isMeasured(_ time: Duration) -> Bool { time >= warmUp && time < end }

    func schedule(ofConnection place: Int) -> Schedule? {
        rate.map { Schedule(rate: $0, connections: connections, place: place) }
    }
}
