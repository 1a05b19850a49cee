/// One step of a ``FaultScript``: what happens, when, how often, and for how long.
public struct FaultStep: Hashable, Sendable {
    /// When a step begins; out of a range, the seed decides.
    public enum Start: Hashable, Sendable {
        /// This long after the script began.
        case at(ClosedRange<Duration>)
        /// This long after the step before is over; a step that recurs is not waited for.
        case after(ClosedRange<Duration>)
    }

    /// When it begins; nil for with the script, or one interval later if it recurs.
    public var start: Start?
    /// How long after one time comes the next, a millisecond at least; nil if it happens once.
    public var interval: ClosedRange<Duration>?
    /// What happens.
    public var fault: Fault
    /// How long it holds; nil for until the end, or until ``Fault/heal``.
    ///
    /// For a fault that is over at once it says nothing.
    public var length: ClosedRange<Duration>?

    /// A step.
    public init(
        _ fault: Fault, start: Start? = nil, every interval: ClosedRange<Duration>? = nil, for length: ClosedRange<Duration>? = nil
    ) {
        (self.fault, self.start, self.interval, self.length) = (fault, start, interval, length)
    }
}

extension FaultStep: CustomStringConvertible {
    /// As it stands in a script, such as `at 20s stall for 8s`.
    public var description: String {
        var words: [String] = []
        switch start {
        case .at(let range): words.append("at \(FaultWords.span(range))")
        case .after(let range): words.append("after \(FaultWords.span(range))")
        case nil: break
        }
        if let interval { words.append("every \(FaultWords.span(interval))") }
        words.append(fault.description)
        if let length, fault.lasts { words.append("for \(FaultWords.span(length))") }
        return words.joined(separator: " ")
    }
}
