import Crypto

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
