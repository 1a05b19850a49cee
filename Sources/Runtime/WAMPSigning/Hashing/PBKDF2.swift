import Crypto

/// PBKDF2 with HMAC-SHA256, RFC 8018 §5.2.
///
/// swift-crypto has one too, in a product that brings a second copy of its C code to Apple's platforms.
enum PBKDF2 {
    /// How many rounds pass between two looks at whether the task is cancelled.
    private static let stride = 4096

    /// A key of a password.
    ///
    /// - Throws: `CancellationError` if the task is cancelled meanwhile.
    static func key(password: [UInt8], salt: [UInt8], iterations: Int, length: Int) throws(CancellationError) -> [UInt8] {
        // A key is hashed into HMAC's inner and outer state once; each round begins with a copy of them.
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
                if round % stride == 0, Task.isCancelled { throw CancellationError() }
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
