import MachineCore

/// The hub's time, as far as the client knows it.
///
/// It continues with the driver's moments, so that a change of the system clock during a connection has no effect.
struct ClientClock: Hashable, Sendable {
    private struct Reading: Hashable, Sendable {
        var milliseconds: Int64
        var moment: Moment

        init(_ milliseconds: Int64, _ moment: Moment) { (self.milliseconds, self.moment) = (milliseconds.asTime, moment) }

        func time(at now: Moment) -> Int64 { milliseconds.clampedSum((now - moment).wholeMilliseconds).asTime }
    }
    private var calendar: Reading?
    private var hub: Reading?

    /// Records the time of the local system clock.
    mutating func read(calendar milliseconds: Int64, at now: Moment) { calendar = Reading(milliseconds, now) }

    /// Records the time of the hub's clock.
    mutating func heard(hub milliseconds: Int64, at now: Moment) { hub = Reading(milliseconds, now) }

    /// Whether the hub's clock is known, so that no later correction is needed.
    var knowsHub: Bool { hub != nil }

    /// Milliseconds since 1970 UTC by the hub's clock, or by the local clock until the hub's is known; nil if neither is known.
    func now(at now: Moment) -> Int64? { (hub ?? calendar)?.time(at: now) }

    /// Converts a local time to the hub's clock, limited to times that are valid on the wire.
    func corrected(_ milliseconds: Int64, at now: Moment) -> Int64 {
        guard let hub, let calendar else { return milliseconds.asTime }
        return (milliseconds.asTime + hub.time(at: now) - calendar.time(at: now)).asTime
    }
}

extension Int64 {
    fileprivate func clampedSum(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The nearest number that is a valid time on the wire.
    fileprivate var asTime: Int64 { Swift.min(Swift.max(self, 0), RoomsLimits.number - 1) }
}
