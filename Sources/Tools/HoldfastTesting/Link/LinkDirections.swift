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
