/// A piece of a message that is received or sent as a stream.
public struct MessageChunk: Hashable, Sendable {
    /// The kind of the whole message.
    public var kind: MessageKind
    /// The bytes of this piece; of text, valid UTF-8 that may begin or end inside a character.
    public var bytes: [UInt8]
    /// Whether the message ends with this piece.
    public var isLast: Bool

    /// A piece of a message.
    public init(kind: MessageKind, bytes: [UInt8], isLast: Bool) { (self.kind, self.bytes, self.isLast) = (kind, bytes, isLast) }
}
