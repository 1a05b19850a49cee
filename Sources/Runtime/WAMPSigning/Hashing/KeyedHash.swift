import CodecCore
import Crypto
import MachineCore

#if !(WAMP || Router)
    #error("WAMP needs a trait of the package: .package(url: \"…\", traits: [.defaults, \"WAMP\"]), or \"Router\" for a router")
#endif

/// SHA-256, and functions based on it.
enum KeyedHash {
    static func sha256(_ message: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: message)) }

    /// HMAC-SHA256, RFC 2104.
    static func hmac(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)))
    }

    /// Compares bytes in constant time, so that the duration does not reveal where they differ.
    static func areEqual(_ some: [UInt8], _ others: [UInt8]) -> Bool {
        guard some.count == others.count else { return false }
        return zip(some, others).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
    }

    /// Compares texts in constant time, so that the duration reveals neither where they differ nor how long they are.
    static func areEqual(_ some: String, _ others: String) -> Bool { areEqual(sha256(Array(some.utf8)), sha256(Array(others.utf8))) }
}

/// Random bytes that are used once.
enum Nonce {
    /// The length in bytes, a multiple of 3: their Base64 has no padding, so a longer nonce can begin with them, both as text and as bytes.
    static let length = 18

    /// Returns 18 random bytes of the system, as Base64.
    static func make() -> String { Base64.text(bytes()) }

    /// Returns random bytes of the system.
    static func bytes(_ count: Int = length) -> [UInt8] {
        var chance = SystemRandomNumberGenerator()
        return (0..<count).map { _ in chance.next() }
    }
}

extension Base64 {
    /// Decodes a text, also without padding; returns nil if it is not Base64.
    static func bytes(_ text: String) -> [UInt8]? {
        bytes(of: (text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)).utf8)
    }
}
