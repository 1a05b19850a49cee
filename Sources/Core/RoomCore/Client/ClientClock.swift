import MachineCore

/// What the time is at the hub, as far as a client can know.
///
/// It runs on with the driver's moments, so that a calendar that is set while a connection stands changes nothing.
struct ClientClock: Hashable, Sendable {
    private struct Reading: Hashable, Sendable {
        var milliseconds: Int64
        var moment: Moment

        init(_ milliseconds: Int64, _ moment: Moment) { (self.milliseconds, self.moment) = (milliseconds.asTime, moment) }

        func time(at now: Moment) -> Int64 { milliseconds.clampedSum((now - moment).wholeMilliseconds).asTime }
    }
    private var calendar: Reading?
    private var hub: Reading?

    /// Takes what this machine's calendar says.
    mutating func read(calendar milliseconds: Int64, at now: Moment) { calendar = Reading(milliseconds, now) }

    /// Takes what the hub's clock says.
    mutating func heard(hub milliseconds: Int64, at now: Moment) { hub = Reading(milliseconds, now) }

    /// Whether the hub's clock is known, so that nothing needs to be corrected later.
    var knowsHub: Bool { hub != nil }

    /// Milliseconds since 1970 UTC by the hub's clock, or by the calendar until it is known; nil if neither is.
    func now(at now: Moment) -> Int64? { (hub ?? calendar)?.time(at: now) }

    /// A time of this machine's calendar by the hub's clock; one that may go over the wire.
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

    /// The nearest number that is a time on the wire.
    fileprivate var asTime: Int64 { Swift.min(Swift.max(self, 0), RoomsLimits.number - 1) }
}
