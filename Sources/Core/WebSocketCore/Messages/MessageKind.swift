/// Whether a message is text or binary.
public enum MessageKind: Hashable, Sendable {
    /// UTF-8 text.
    case text
    /// Bytes.
    case binary
}
