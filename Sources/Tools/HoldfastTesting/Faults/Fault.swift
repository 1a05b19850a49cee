import MachineCore

/// Something that a ``FaultyLink`` does to its connections.
///
/// Its description is what stands for it in a ``FaultScript``.
public enum Fault: Hashable, Sendable {
    /// Breaks every connection, at once.
    case cut(LinkEnding)
    /// Breaks every connection once it has carried some of these many bytes, counted both ways.
    case cutAfter(ClosedRange<Int>, LinkEnding)
    /// Passes nothing on, and takes little; what waits goes on afterwards.
    case stall
    /// Takes everything and passes nothing on; what was taken is lost.
    case swallow(LinkDirections)
    /// Hangs up on whoever connects.
    case refuse
    /// Closes the port: the system refuses whoever connects.
    case close
    /// Lets so many bytes a second pass in each of these directions.
    case throttle(Int, LinkDirections)
    /// Delays what passes, each piece by a time out of this range.
    case delay(ClosedRange<Duration>)
    /// Ends every fault.
    case heal

    /// Faults of one kind do not add up: the last one counts.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// ``Fault/cut(_:)``.
        case cut
        /// ``Fault/cutAfter(_:_:)``.
        case cutAfter = "cut after"
        /// ``Fault/stall``.
        case stall
        /// ``Fault/swallow(_:)``.
        case swallow
        /// ``Fault/refuse``.
        case refuse
        /// ``Fault/close``.
        case close
        /// ``Fault/throttle(_:_:)``.
        case throttle
        /// ``Fault/delay(_:)``.
        case delay
        /// ``Fault/heal``.
        case heal
    }

    /// What kind of fault it is.
    public var kind: Kind {
        switch self {
        case .cut: .cut
        case .cutAfter: .cutAfter
        case .stall: .stall
        case .swallow: .swallow
        case .refuse: .refuse
        case .close: .close
        case .throttle: .throttle
        case .delay: .delay
        case .heal: .heal
        }
    }

    /// Whether it holds until something ends it; the others are over at once.
    public var lasts: Bool { kind != .cut && kind != .heal }
}

extension Fault: CustomStringConvertible {
    /// As it stands in a script, such as `throttle 16KiB/s up`.
    public var description: String {
        switch self {
        case .cut(let ending): kind.rawValue + Self.suffix(ending)
        case .cutAfter(let bytes, let ending): "cut\(Self.suffix(ending)) after \(FaultWords.bytes(bytes))"
        case .swallow(let directions): kind.rawValue + Self.suffix(directions)
        case .throttle(let rate, let directions): "throttle \(FaultWords.bytes(rate))/s" + Self.suffix(directions)
        case .delay(let range): "delay \(FaultWords.span(range))"
        case .stall, .refuse, .close, .heal: kind.rawValue
        }
    }

    private static func suffix(_ ending: LinkEnding) -> String { ending == .fin ? "" : " \(ending)" }
    private static func suffix(_ directions: LinkDirections) -> String { directions == .both ? "" : " \(directions)" }
}

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
