/// Counts round trips.
///
/// The first ones warm up, the others are measured.
public struct RoundTrips: Sendable {
    private let workload: Workload
    private var meter = Meter()
    private var done = 0

    /// No round trip yet.
    public init(_ workload: Workload) { self.workload = workload }

    /// Before a message is sent.
    public mutating func depart() {
        if done == workload.warmUp { meter.begin(samples: workload.count) }
        meter.depart()
    }

    /// After the echo has arrived.
    ///
    /// Returns the line to print at the end.
    public mutating func arrive() -> String? {
        if done >= workload.warmUp { meter.arrive() }
        done += 1
        return done == workload.warmUp + workload.count ? meter.finish(workload.count) : nil
    }
}
