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

/// What may be sent, as the hub says in its welcome.
public struct RoomsLimits: Hashable, Sendable {
    /// Bytes of one frame.
    public var frame: Int64 = 1_048_576
    /// Bytes of one payload.
    public var body: Int64 = 65_536
    /// Publications without an ack, per room.
    public var roomWindow: Int64 = 32
    /// Publications without an ack, per connection.
    public var window: Int64 = 256
    /// Rooms that a connection has joined at once.
    public var rooms: Int64 = 1000
    /// Entries in a page.
    public var page: Int64 = 500
    /// Members of a room, beyond which only their count is told.
    public var members: Int64 = 200

    /// The usual limits.
    public init() {}

    /// Bytes of the names of rooms and users.
    package static let nameLength = 128
    /// Bytes of types, kinds and status.
    package static let typeLength = 64
    /// Rooms that a hello resumes.
    package static let joins = 1024
    /// Versions that a frame lists.
    package static let versions = 64
    /// Bytes of a refusal's text.
    package static let refusalLength = 256
    /// Bytes of a signal's payload.
    package static let signalLength = 4096
    /// Bytes of what a member says about itself.
    package static let metaLength = 1024
    /// The version of the protocol.
    package static let version: Int64 = 1
    /// For how long a device that is silent is remembered, in milliseconds: 90 days.
    package static let window: Int64 = 90 * 86_400_000
    /// How far ahead a client's clock may be, in milliseconds: an hour.
    package static let future: Int64 = 3_600_000
    /// What all numbers on the wire are below: JSON's readers are sure of those.
    package static let number: Int64 = 1 << 53
}
