/// A message in a room's log.
public struct Entry: Hashable, Sendable, Identifiable {
    /// The number of the entry in the log, from 1.
    public var seq: Int64
    /// The message's ID, chosen by the app.
    public var id: MessageID
    /// The device that sent the message.
    public var device: DeviceID
    /// The message's number among the device's messages to this room, from 1.
    public var cseq: Int64
    /// The user who sent the message, as the hub knows it.
    public var user: UserName
    /// When the hub stored it, in milliseconds since 1970 UTC.
    public var at: Int64
    /// When the app submitted it, in milliseconds since 1970 UTC.
    public var sent: Int64
    /// The type of the payload, 1 to 64 bytes.
    public var type: String
    /// The message that this message refers to.
    public var about: Reference?
    /// The payload.
    public var payload: Payload
    /// Whether the user had the right to moderate when the entry was stored.
    public var isAdmin: Bool

    /// Creates an entry.
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
    /// The content of a publication.
    ///
    /// A publication without content is a void: the message of its number was refused permanently.
    public struct Content: Hashable, Sendable {
        /// The type of the payload, 1 to 64 bytes.
        public var type: String
        /// The message that this message refers to.
        public var about: Reference?
        /// The payload.
        public var payload: Payload

        /// Creates the content of a message.
        public init(type: String, about: Reference? = nil, payload: Payload) {
            (self.type, self.about, self.payload) = (type, about, payload)
        }
    }
    /// The message's number among the device's messages to this room, from 1.
    public var cseq: Int64
    /// The message's ID, chosen by the app.
    public var id: MessageID
    /// When the app submitted it, in milliseconds since 1970 UTC.
    public var sent: Int64
    /// The content; nil for a void, which only uses the number.
    public var content: Content?

    /// Creates a publication.
    public init(cseq: Int64, id: MessageID, sent: Int64, content: Content?) {
        (self.cseq, self.id, self.sent, self.content) = (cseq, id, sent, content)
    }
}

/// The payload of a message: JSON or bytes.
///
/// The hub passes it on without reading it.
public enum Payload: Hashable, Sendable {
    /// One JSON value in UTF-8, exactly as it was written.
    case json([UInt8])
    /// Bytes in a format of the app.
    case binary([UInt8])

    /// The bytes of the payload.
    public var bytes: [UInt8] {
        switch self {
        case .json(let bytes), .binary(let bytes): bytes
        }
    }
}

/// A reference from one message to another.
public struct Reference: Hashable, Sendable {
    /// The kind of the reference, 1 to 64 bytes: `edit`, `delete`, `react`, or one of the app.
    public var kind: String
    /// The number of the other message in the same epoch.
    public var seq: Int64

    /// Creates a reference.
    public init(kind: String, seq: Int64) { (self.kind, self.seq) = (kind, seq) }
}

/// A message that is not stored, such as a cursor position or a reaction in flight.
public struct Signal: Hashable, Sendable {
    /// The type of the payload, 1 to 64 bytes.
    public var type: String
    /// The payload, at most 4 KiB.
    public var payload: Payload

    /// Creates a signal.
    public init(type: String, payload: Payload) { (self.type, self.payload) = (type, payload) }
}
