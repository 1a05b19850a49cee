/// The methods of authentication, as the wire calls them.
public enum SigningMethod {
    /// Nobody in particular.
    public static let anonymous = "anonymous"
    /// A ticket that is shown as it is.
    public static let ticket = "ticket"
    /// A challenge, signed with a secret that both sides know.
    public static let cra = "wampcra"
    /// A challenge, signed with a private key.
    public static let cryptosign = "cryptosign"
    /// A password that neither side shows, as Crossbar and Autobahn have it.
    public static let scram = "scram"
    /// A password that neither side shows, as the specification has it.
    public static let standardScram = "wamp-scram"
}

/// Why a challenge was not answered.
public enum SigningError: Error, Hashable, Sendable {
    /// A field of the challenge is missing, or is none that can be used: its name.
    case field(String)
    /// The password would have to be hashed at a cost beyond what is allowed: which, and how much was asked for.
    case cost(String, Int)
    /// The password is hashed by a function that is not there: its name.
    case noSuchFunction(String)
    /// The challenge does not continue what this side began: it is not for it.
    case foreignNonce
    /// The method was not offered: its name.
    case notOffered(String)
    /// A key of another length than 32 bytes, or none at all.
    case key
    /// The app's own Argon2id failed: how.
    case argon2(String)
    /// The task was cancelled.
    case cancelled
}

extension SigningError {
    /// Whether the next challenge of the same router will fare no better.
    package var isHopeless: Bool {
        switch self {
        case .field, .cost, .noSuchFunction, .notOffered, .key: true
        case .foreignNonce, .argon2, .cancelled: false
        }
    }
}

extension SigningError: CustomStringConvertible {
    /// What is wrong, without anything secret.
    public var description: String {
        switch self {
        case .field(let name): "the challenge has no usable '\(name)'"
        case .cost(let name, let count): "the challenge asks for \(name) \(count), which is not allowed here"
        case .noSuchFunction(let name): "the password is hashed by '\(name)' at the router, which is not here"
        case .foreignNonce: "the challenge answers another hello than ours"
        case .notOffered(let name): "the router asks for the method '\(name)', which was not offered"
        case .key: "a key of Ed25519 has 32 bytes"
        case .argon2(let reason): "Argon2id failed: \(reason)"
        case .cancelled: "cancelled"
        }
    }
}

/// Tickets: what a client shows as it is.
///
/// Source: WAMP, "Ticket-based Authentication".
public enum Ticket {
    /// Whether a ticket is the one that is known; how long it takes does not say how much of it is right.
    public static func isGenuine(_ ticket: String, known: String) -> Bool { KeyedHash.areEqual(ticket, known) }
}
