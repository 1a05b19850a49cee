import CodecCore
import Crypto
import MachineCore

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

/// Bytes by chance that are used once.
enum Nonce {
    /// A multiple of 3: Base64 of them has no padding, so that both the text and the bytes of a longer nonce can begin with them.
    static let length = 18

    /// 18 bytes of the system's chance, as Base64.
    static func make() -> String { Base64.text(bytes()) }

    /// So many bytes of the system's chance.
    static func bytes(_ count: Int = length) -> [UInt8] {
        var chance = SystemRandomNumberGenerator()
        return (0..<count).map { _ in chance.next() }
    }
}

extension Base64 {
    /// The bytes of a text, also where its padding is left out; nil if it is none.
    static func bytes(_ text: String) -> [UInt8]? {
        bytes(of: (text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)).utf8)
    }
}
