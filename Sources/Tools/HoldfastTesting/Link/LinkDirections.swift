/// Which way bytes go through a ``FaultyLink``.
public struct LinkDirections: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// One bit for each direction.
    public let rawValue: UInt8

    /// The directions with these bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// From whoever connects to the link, to the server.
    public static let up = LinkDirections(rawValue: 1)
    /// From the server, to whoever connects to the link.
    public static let down = LinkDirections(rawValue: 2)
    /// Both ways.
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

/// How TCP tells the two sides that a connection is cut.
public enum LinkEnding: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// As an end of the stream. If bytes lie unread TCP makes a reset of it.
    case fin
    /// As an error, at once; what came just before may be lost as well.
    case rst

    /// `fin` or `rst`.
    public var description: String { rawValue }
}
