/// A message in a room's log.
public struct Entry: Hashable, Sendable, Identifiable {
    /// Its place in the room's order, from 1.
    public var seq: Int64
    /// The app's name for it.
    public var id: MessageID
    /// Whose store it comes from.
    public var device: DeviceID
    /// Its number among the device's messages to this room, from 1.
    public var cseq: Int64
    /// Who sent it, as the hub knows it.
    public var user: UserName
    /// When the hub stored it, in milliseconds since 1970 UTC.
    public var at: Int64
    /// When the app submitted it, in milliseconds since 1970 UTC.
    public var sent: Int64
    /// How to read its payload, 1 to 64 bytes.
    public var type: String
    /// The message that it is about.
    public var about: Reference?
    /// What it says.
    public var payload: Payload
    /// Whether its user had the right to moderate when it was stored.
    public var isAdmin: Bool

    /// An entry.
    public init(
        seq: Int64, id: MessageID, device: DeviceID, cseq: Int64, user: UserName, at: Int64, sent: Int64, type: String,
        about: Reference? = nil, payload: Payload, isAdmin: Bool = false
    ) {
        (self.seq, self.id, self.device, self.cseq, self.user) = (seq, id, device, cseq, user)
        (self.at, self.sent, self.type, self.about, self.payload, self.isAdmin) = (at, sent, type, about, payload, isAdmin)
    }
}

/// A message on its way to the hub.
public struct Publication: Hashable, Sendable {
    /// What a publication holds; nothing once it was refused for good, which keeps its number but burns it.
    public struct Content: Hashable, Sendable {
        /// How to read the payload, 1 to 64 bytes.
        public var type: String
        /// The message that it is about.
        public var about: Reference?
        /// What it says.
        public var payload: Payload

        /// What a message says.
        public init(type: String, about: Reference? = nil, payload: Payload) {
            (self.type, self.about, self.payload) = (type, about, payload)
        }
    }
    /// Its number among the device's messages to this room, from 1.
    public var cseq: Int64
    /// The app's name for it.
    public var id: MessageID
    /// When the app submitted it, in milliseconds since 1970 UTC.
    public var sent: Int64
    /// What it says; nil of a void.
    public var content: Content?

    /// A publication.
    public init(cseq: Int64, id: MessageID, sent: Int64, content: Content?) {
        (self.cseq, self.id, self.sent, self.content) = (cseq, id, sent, content)
    }
}

/// What an app says in a message: JSON or bytes.
///
/// The hub passes it on and never looks inside.
public enum Payload: Hashable, Sendable {
    /// One value of JSON as it was written, in UTF-8.
    case json([UInt8])
    /// Bytes of the app's own.
    case binary([UInt8])

    /// The bytes of either.
    public var bytes: [UInt8] {
        switch self {
        case .json(let bytes), .binary(let bytes): bytes
        }
    }
}

/// What a message says about another.
public struct Reference: Hashable, Sendable {
    /// What it does to it, 1 to 64 bytes: `edit`, `delete`, `react`, or the app's own.
    public var kind: String
    /// The number of the other in the same epoch.
    public var seq: Int64

    /// A message about another.
    public init(kind: String, seq: Int64) { (self.kind, self.seq) = (kind, seq) }
}

/// Something that nobody stores: a cursor, a reaction in flight.
public struct Signal: Hashable, Sendable {
    /// How to read its payload, 1 to 64 bytes.
    public var type: String
    /// What it says, at most 4 KiB.
    public var payload: Payload

    /// A signal.
    public init(type: String, payload: Payload) { (self.type, self.payload) = (type, payload) }
}
