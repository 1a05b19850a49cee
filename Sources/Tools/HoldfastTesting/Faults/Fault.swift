import MachineCore

/// A fault that a ``FaultyLink`` applies to its connections.
///
/// Its description is its notation in a ``FaultScript``.
public enum Fault: Hashable, Sendable {
    /// Cuts every connection at once.
    case cut(LinkEnding)
    /// Cuts each connection after it has carried a number of bytes from this range, counted in both directions together.
    case cutAfter(ClosedRange<Int>, LinkEnding)
    /// Forwards nothing and reads little; waiting bytes are forwarded afterwards.
    case stall
    /// Reads everything and forwards nothing; the bytes that were read are lost.
    case swallow(LinkDirections)
    /// Accepts each new connection and closes it at once.
    case refuse
    /// Closes the port: the operating system refuses new connections.
    case close
    /// Limits the rate in each of these directions to this many bytes per second.
    case throttle(Int, LinkDirections)
    /// Delays each piece by a time from this range.
    case delay(ClosedRange<Duration>)
    /// Ends every fault.
    case heal

    /// The kind of a fault: faults of one kind do not add up, only the last one counts.
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

    /// The kind of the fault.
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

    /// Whether the fault lasts until something ends it; the others take effect once.
    public var lasts: Bool { kind != .cut && kind != .heal }
}

extension Fault: CustomStringConvertible {
    /// The fault in the notation of a script, such as `throttle 16KiB/s up`.
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

/// The limits for values in a script.
enum FaultLimits {
    /// A year and a day, so that no sum of times overflows.
    static let longest = Duration.seconds(366 * 86_400)
    /// The shortest interval of a recurring step.
    static let shortestInterval = Duration.milliseconds(1)
    static let bytes = 1...1 << 50
    /// Bytes per second.
    static let rates = 1...10 << 30
    static let steps = 1000
}

extension ClosedRange<Duration> {
    /// Draws a random duration from the range, to the nanosecond.
    func draw(using chance: inout SeededGenerator) -> Duration {
        guard lowerBound < upperBound else { return lowerBound }
        let (low, high) = (lowerBound.withinScript.wholeNanoseconds, upperBound.withinScript.wholeNanoseconds)
        return .nanoseconds(Int64.random(in: low...high, using: &chance))
    }
}

extension Duration {
    /// The duration clamped to what a script can express: not negative and not longer than ``FaultLimits/longest``.
    var withinScript: Duration { min(max(self, .zero), FaultLimits.longest) }
}

/// The directions of traffic through a ``FaultyLink``.
public struct LinkDirections: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// One bit for each direction.
    public let rawValue: UInt8

    /// Creates a set of directions from these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// From the client to the server.
    public static let up = LinkDirections(rawValue: 1)
    /// From the server to the client.
    public static let down = LinkDirections(rawValue: 2)
    /// Both directions.
    public static let both: LinkDirections = [.up, .down]

    /// `up`, `down`, `both` or `none`.
    public var description: String {
        switch self {
        case .up: "up"
        case .down: "down"
        case .both: "both"
        default: "none"
        }
    }
}

/// How TCP signals to the two sides that a connection was cut.
public enum LinkEnding: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// As the end of the stream. If unread bytes remain, TCP sends a reset instead.
    case fin
    /// As an error, at once; bytes sent just before may be lost as well.
    case rst

    /// `fin` or `rst`.
    public var description: String { rawValue }
}
