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
