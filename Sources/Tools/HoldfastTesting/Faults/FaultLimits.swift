import MachineCore

/// What a script may ask for at most.
enum FaultLimits {
    /// A year and a day: no sum of times overflows.
    static let longest = Duration.seconds(366 * 86_400)
    /// What recurs does so no more often.
    static let shortestInterval = Duration.milliseconds(1)
    static let bytes = 1...1 << 50
    /// Bytes a second.
    static let rates = 1...10 << 30
    static let steps = 1000
}

extension ClosedRange<Duration> {
    /// Some duration of the range, to the nanosecond.
    func draw(using chance: inout SeededGenerator) -> Duration {
        guard lowerBound < upperBound else { return lowerBound }
        let (low, high) = (lowerBound.withinScript.wholeNanoseconds, upperBound.withinScript.wholeNanoseconds)
        return .nanoseconds(Int64.random(in: low...high, using: &chance))
    }
}

extension Duration {
    /// What a script can mean: neither negative nor longer than ``FaultLimits/longest``.
    var withinScript: Duration { min(max(self, .zero), FaultLimits.longest) }
}
