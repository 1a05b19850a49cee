/// The rights of a user in a room; on the wire, letters out of `rwpa`.
public struct RoomRights: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// The rights as bits.
    public var rawValue: UInt8

    /// Creates rights from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The right to see entries.
    public static let read = RoomRights(rawValue: 1)
    /// The right to publish, and to send signals.
    public static let write = RoomRights(rawValue: 2)
    /// The right to be present, and to see who is present.
    public static let presence = RoomRights(rawValue: 4)
    /// The right to edit and delete messages of others.
    public static let admin = RoomRights(rawValue: 8)
    /// The rights to read, to write and to be present.
    public static let member: RoomRights = [.read, .write, .presence]

    /// Reads letters and ignores unknown ones.
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

    /// The rights as letters.
    public var description: String {
        (contains(.read) ? "r" : "") + (contains(.write) ? "w" : "") + (contains(.presence) ? "p" : "") + (contains(.admin) ? "a" : "")
    }
}

/// The limits for what a client sends, as the hub announces them in its welcome.
public struct RoomsLimits: Hashable, Sendable {
    /// The maximum size of a frame in bytes.
    public var frame: Int64 = 1_048_576
    /// The maximum size of a payload in bytes.
    public var body: Int64 = 65_536
    /// The maximum number of publications without an ack, per room.
    public var roomWindow: Int64 = 32
    /// The maximum number of publications without an ack, per connection.
    public var window: Int64 = 256
    /// The maximum number of rooms that a connection has joined at once.
    public var rooms: Int64 = 1000
    /// The maximum number of entries in a page.
    public var page: Int64 = 500
    /// The number of members of a room above which the hub reports only their count.
    public var members: Int64 = 200

    /// Creates the default limits.
    public init() {}

    /// The maximum length of room and user names in bytes.
    package static let nameLength = 128
    /// The maximum length of types, kinds and statuses in bytes.
    package static let typeLength = 64
    /// The maximum number of rooms that a `hello` resumes.
    package static let joins = 1024
    /// The maximum number of versions that a frame lists.
    package static let versions = 64
    /// The maximum length of a refusal's text in bytes.
    package static let refusalLength = 256
    /// The maximum length of a signal's payload in bytes.
    package static let signalLength = 4096
    /// The maximum length of a member's metadata in bytes.
    package static let metaLength = 1024
    /// The version of the protocol.
    package static let version: Int64 = 1
    /// How long the hub remembers a silent device, in milliseconds: 90 days.
    package static let window: Int64 = 90 * 86_400_000
    /// How far ahead a client's clock may be, in milliseconds: an hour.
    package static let future: Int64 = 3_600_000
    /// The limit that all numbers on the wire stay below, because every JSON parser reads smaller numbers exactly.
    package static let number: Int64 = 1 << 53
}
