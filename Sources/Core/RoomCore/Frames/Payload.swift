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
