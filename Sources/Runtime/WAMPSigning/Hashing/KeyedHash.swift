import Crypto

#if !(WAMP || Router)
    #error("WAMP needs a trait of the package: .package(url: \"…\", traits: [.defaults, \"WAMP\"]), or \"Router\" for a router")
#endif

/// SHA-256, and what is built on it.
enum KeyedHash {
    static func sha256(_ message: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: message)) }

    /// HMAC-SHA256, RFC 2104.
    static func hmac(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)))
    }

    /// Whether these are the same bytes; how long it takes says nothing of where they differ.
    static func areEqual(_ some: [UInt8], _ others: [UInt8]) -> Bool {
        guard some.count == others.count else { return false }
        return zip(some, others).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
    }

    /// Whether these are the same texts; how long it takes says neither where they differ nor how long they are.
    static func areEqual(_ some: String, _ others: String) -> Bool { areEqual(sha256(Array(some.utf8)), sha256(Array(others.utf8))) }
}
