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

/// The range of costs for password hashing that a router may ask for.
///
/// Higher costs would keep the device busy for minutes. Lower costs would give a false router a hash from which it can soon guess the
/// password. Source: WAMP, "Salted Challenge Response Authentication".
public struct PasswordCosts: Hashable, Sendable {
    /// The iterations of PBKDF2.
    public var iterations: ClosedRange<Int>
    /// The iterations of Argon2id.
    public var passes: ClosedRange<Int>
    /// The memory for Argon2id, in KiB.
    public var memory: ClosedRange<Int>

    /// Creates ranges; by default 1,000 to 1,000,000 iterations of PBKDF2, and 1 to 16 of Argon2id with 1 to 256 MiB.
    public init(
        iterations: ClosedRange<Int> = 1000...1_000_000, passes: ClosedRange<Int> = 1...16, memory: ClosedRange<Int> = 1024...262_144
    ) {
        (self.iterations, self.passes, self.memory) = (iterations, passes, memory)
    }
}

/// PBKDF2 with HMAC-SHA256, RFC 8018 §5.2.
///
/// swift-crypto has one too, in a product that adds a second copy of its C code on Apple's platforms.
enum PBKDF2 {
    /// The number of rounds between two checks for cancellation.
    private static let stride = 4096

    /// Derives a key from a password.
    ///
    /// - Throws: `cancelled` if the task is cancelled meanwhile.
    static func key(password: [UInt8], salt: [UInt8], iterations: Int, length: Int) throws(SigningError) -> [UInt8] {
        // The key is hashed into HMAC's inner and outer state once; each round begins with a copy of them.
        let keyed = HMAC<SHA256>(key: SymmetricKey(data: password))
        var key: [UInt8] = []
        var index: UInt32 = 1
        while key.count < length {
            var hash = keyed
            hash.update(data: salt)
            hash.update(data: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: index >> $0) })
            var last = Array(hash.finalize())
            var block = last
            for round in 1..<max(iterations, 1) {
                if round % stride == 0, Task.isCancelled { throw .cancelled }
                var hash = keyed
                hash.update(data: last)
                last = Array(hash.finalize())
                for place in block.indices { block[place] ^= last[place] }
            }
            key += block
            index += 1
        }
        return Array(key.prefix(length))
    }
}

/// Argon2id, version 1.3 (RFC 9106), with one lane and a result of 32 bytes; the app provides the implementation.
///
/// Libsodium, libargon2 and others implement it. It is only needed for routers that store passwords hashed with it.
public struct Argon2id: Sendable {
    /// Hashes a password with a salt, with a number of iterations and an amount of memory in KiB.
    public typealias Hash = @Sendable (_ password: [UInt8], _ salt: [UInt8], _ iterations: Int, _ memory: Int) throws -> [UInt8]

    let hash: Hash

    /// Creates Argon2id with this implementation.
    public init(_ hash: @escaping Hash) { self.hash = hash }
}
