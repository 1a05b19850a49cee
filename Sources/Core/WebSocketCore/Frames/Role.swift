/// Which end of the connection this side is.
public enum Role: Hashable, Sendable {
    /// Opens the connection; masks what it sends (RFC 6455 §5.1).
    case client
    /// Accepts the connection; sends without a mask.
    case server
}
