/// What somebody may do in a room; on the wire letters out of `rwpa`.
public struct RoomRights: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// A bit each.
    public var rawValue: UInt8

    /// Rights by their bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// To see entries.
    public static let read = RoomRights(rawValue: 1)
    /// To publish, and to send signals.
    public static let write = RoomRights(rawValue: 2)
    /// To be seen, and to see who is there.
    public static let presence = RoomRights(rawValue: 4)
    /// To edit and delete what others wrote.
    public static let admin = RoomRights(rawValue: 8)
    /// To read, write and be seen.
    public static let member: RoomRights = [.read, .write, .presence]

    /// Reads letters; what is no right is passed over.
    public init(letters: String) {
        self = []
        for letter in letters.utf8 {
            switch letter {
            case UInt8(ascii: "r"): insert(.read)
            case UInt8(ascii: "w"): insert(.write)
            case UInt8(ascii: "p"): insert(.presence)
            case UInt8(ascii: "a"): insert(.admin)
            default: break
            }
        }
    }

    /// The letters.
    public var description: String {
        (contains(.read) ? "r" : "") + (contains(.write) ? "w" : "") + (contains(.presence) ? "p" : "") + (contains(.admin) ? "a" : "")
    }
}
