import Foundation

/// The clocks, the samples of round trips, and the line printed at the end.
public struct Meter: Sendable {
    private var start = (wall: 0.0, cpu: 0.0)
    private var samples: [Double] = []
    private var sent = 0.0

    /// A meter that has not started.
    public init() {}

    /// Starts the clocks; `samples` round trips will be measured.
    public mutating func begin(samples count: Int = 0) {
        samples.reserveCapacity(count)
        start = (Self.seconds(CLOCK_MONOTONIC), Self.seconds(CLOCK_PROCESS_CPUTIME_ID))
    }

    /// Starts a round trip.
    public mutating func depart() { sent = Self.seconds(CLOCK_MONOTONIC) }

    /// Ends a round trip.
    public mutating func arrive() { samples.append(Self.seconds(CLOCK_MONOTONIC) - sent) }

    /// Stops the clocks and returns the results.
    public func finish(_ messages: Int) -> String {
        let seconds = Self.seconds(CLOCK_MONOTONIC) - start.wall
        let cpu = Self.seconds(CLOCK_PROCESS_CPUTIME_ID) - start.cpu
        var line = "{\"messages\": \(messages), \"seconds\": \(seconds), \"cpu\": \(cpu)"
        if !samples.isEmpty {
            let sorted = samples.sorted()
            line += ", \"p50\": \(sorted[sorted.count / 2] * 1e6), \"p99\": \(sorted[sorted.count * 99 / 100] * 1e6)"
        }
        return line + "}"
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var now = timespec()
        clock_gettime(clock, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) * 1e-9
    }
}
