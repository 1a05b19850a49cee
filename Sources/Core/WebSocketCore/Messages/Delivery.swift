/// How received messages are handed over.
public enum Delivery: Hashable, Sendable {
    /// Whole, once the last byte has come.
    case messages
    /// In pieces, as they come; no message is held whole.
    case chunks
}
