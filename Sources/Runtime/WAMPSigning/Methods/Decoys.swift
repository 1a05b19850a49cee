/// Secrets that nobody has, for names that nobody has: each follows from the name, so that it is the same whenever the name is tried.
///
/// What a challenge shows of them, a salt or how often it is hashed, is of the kind that real ones have. They are others after a restart.
package struct Decoys: Sendable {
    private let key: [UInt8]

    /// Decoys of their own.
    package init() { self.init(key: Nonce.bytes(32)) }

    init(key: [UInt8]) { self.key = key }

    /// Which of so many users a name is treated like.
    package func place(of name: String, among count: Int) -> Int {
        bytes("place", name, 4).reduce(0) { $0 << 8 | Int($1) } % max(count, 1)
    }

    /// A secret of a name.
    package func secret(of name: String) -> String { Hexadecimal.text(bytes("secret", name, 16)) }

    /// A secret of WAMP-CRA, kept as another one is.
    package func secret(of name: String, like other: CRASecret) -> CRASecret {
        guard let salt = other.salt else { return CRASecret(secret(of: name)) }
        return CRASecret(salted: secret(of: name), salt: self.salt(of: name, like: salt), iterations: other.iterations)
    }

    /// The public key of a private key that nobody has.
    package func publicKey(of name: String) -> String {
        (try? CryptosignKey(seed: bytes("key", name, 32)))?.publicKey ?? Hexadecimal.text(bytes("key", name, 32))
    }

    /// Keys of SCRAM, kept as others are.
    package func keys(of name: String, like other: ScramKeys) -> ScramKeys {
        ScramKeys(
            dialect: other.dialect, hash: other.hash, salt: bytes("salt", name, other.salt.count), storedKey: bytes("stored", name, 32),
            serverKey: bytes("server", name, 32))
    }

    /// A salt as long as another, of the same characters.
    private func salt(of name: String, like other: String) -> String {
        let letters = Self.alphabets.first { alphabet in other.utf8.allSatisfy { $0 == UInt8(ascii: "=") || alphabet.contains($0) } }
        let alphabet = letters ?? Self.alphabets[Self.alphabets.count - 1]
        let draws = bytes("salt", name, other.utf8.count * 2)
        let characters = other.utf8.enumerated().map { place, byte in
            // Padding stands where it stood.
            byte == UInt8(ascii: "=") ? byte : alphabet[(Int(draws[2 * place]) << 8 | Int(draws[2 * place + 1])) % alphabet.count]
        }
        return String(decoding: characters, as: UTF8.self)
    }

    /// From the narrowest to the widest.
    private static let alphabets: [[UInt8]] = {
        let digits = Array("0123456789".utf8)
        let (small, great) = (Array("abcdefghijklmnopqrstuvwxyz".utf8), Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8))
        return [
            digits, digits + small.prefix(6), digits + great.prefix(6), small, digits + small, digits + small + great,
            digits + small + great + Array("+/".utf8), digits + small + great + Array("-_".utf8),
            digits + small + great + Array("+/-_.:$ ".utf8),
        ]
    }()

    /// So many bytes that follow from a name.
    private func bytes(_ purpose: String, _ name: String, _ count: Int) -> [UInt8] {
        var (bytes, block) = ([UInt8](), 0)
        while bytes.count < count {
            bytes += KeyedHash.hmac(Array("\(purpose) \(block) \(name)".utf8), key: key)
            block += 1
        }
        return Array(bytes.prefix(count))
    }
}
