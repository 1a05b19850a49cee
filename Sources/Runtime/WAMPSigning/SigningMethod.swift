/// The names of the authentication methods on the wire.
public enum SigningMethod {
    /// No authentication.
    public static let anonymous = "anonymous"
    /// A ticket that is sent in plain text.
    public static let ticket = "ticket"
    /// A challenge that is signed with a shared secret.
    public static let cra = "wampcra"
    /// A challenge that is signed with a private key.
    public static let cryptosign = "cryptosign"
    /// A password that neither side reveals, in the dialect of Crossbar and Autobahn.
    public static let scram = "scram"
    /// A password that neither side reveals, in the dialect of the specification.
    public static let standardScram = "wamp-scram"
}

/// The reason why a challenge was not answered.
public enum SigningError: Error, Hashable, Sendable {
    /// A field of the challenge, with this name, is missing or invalid.
    case field(String)
    /// The cost of hashing is not allowed: the name of the parameter, and the requested value.
    case cost(String, Int)
    /// The hash function with this name is not supported.
    case noSuchFunction(String)
    /// The challenge does not contain this client's nonce, so it is not for this client.
    case foreignNonce
    /// The method with this name was not offered.
    case notOffered(String)
    /// The key is invalid, or does not have 32 bytes.
    case key
    /// The app's implementation of Argon2id failed, with this message.
    case argon2(String)
    /// The task was cancelled.
    case cancelled
}

extension SigningError {
    /// Whether the next challenge of the same router will fail too.
    package var isHopeless: Bool {
        switch self {
        case .field, .cost, .noSuchFunction, .notOffered, .key: true
        case .foreignNonce, .argon2, .cancelled: false
        }
    }
}

extension SigningError: CustomStringConvertible {
    /// The problem, without any secret.
    public var description: String {
        switch self {
        case .field(let name): "the challenge has no usable '\(name)'"
        case .cost(let name, let count): "the challenge asks for \(name) \(count), which is not allowed here"
        case .noSuchFunction(let name): "the router hashes the password with '\(name)', which is not supported here"
        case .foreignNonce: "the challenge does not belong to our hello"
        case .notOffered(let name): "the router asks for the method '\(name)', which was not offered"
        case .key: "an Ed25519 key has 32 bytes"
        case .argon2(let reason): "Argon2id failed: \(reason)"
        case .cancelled: "cancelled"
        }
    }
}

/// Tickets: secrets that a client sends in plain text.
///
/// Source: WAMP, "Ticket-based Authentication".
public enum Ticket {
    /// Whether a ticket is correct; the comparison takes constant time.
    public static func isGenuine(_ ticket: String, known: String) -> Bool { KeyedHash.areEqual(ticket, known) }
}
