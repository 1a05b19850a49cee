import CodecCore
import MachineCore

/// Fake secrets for unknown user names, derived from the name, so that they are the same each time the name is tried.
///
/// The parts that a challenge shows, such as a salt or the number of iterations, look like real ones. They are also derived from a key: a
/// router that keeps the key has the same decoys after a restart.
package struct Decoys: Sendable {
    private let key: [UInt8]

    /// Creates decoys with a new random key.
    package init() { self.init(key: Nonce.bytes(32)) }

    /// Creates decoys from a secret key of 16 bytes or more.
    package init(key: [UInt8]) { self.key = key }

    /// Returns the index of the real user, out of `count`, that a name imitates.
    package func place(of name: String, among count: Int) -> Int {
        bytes("place", name, 4).reduce(0) { $0 << 8 | Int($1) } % max(count, 1)
    }

    /// Returns the secret of a name.
    package func secret(of name: String) -> String { Hexadecimal.text(bytes("secret", name, 16)) }

    /// Returns a WAMP-CRA secret that looks like another one.
    ///
    /// - Parameter letters: All characters that occur in salts of that length.
    package func secret(of name: String, like other: CRASecret, letters: Set<UInt8>) -> CRASecret {
        guard let salt = other.salt else { return CRASecret(secret(of: name)) }
        let own = self.salt(of: name, like: salt, letters: letters.union(salt.utf8))
        return CRASecret(salted: secret(of: name), salt: own, iterations: other.iterations)
    }

    /// Returns a salt of 32 hexadecimal digits for a real user, derived like those of decoys, so that both stay the same.
    package func hexadecimalSalt(of name: String) -> String {
        let digits = Self.alphabets[1]
        return salt(of: name, like: String(decoding: digits + digits, as: UTF8.self), letters: Set(digits))
    }

    /// Returns such a salt in bytes, for SCRAM.
    package func salt(of name: String, count: Int = 16) -> [UInt8] { bytes("salt0", name, count) }

    /// Returns a public key whose private key is unknown.
    package func publicKey(of name: String) -> String {
        (try? CryptosignKey(seed: bytes("key", name, 32)))?.publicKey ?? Hexadecimal.text(bytes("key", name, 32))
    }

    /// Returns SCRAM keys that look like others.
    ///
    /// - Parameter salts: All salts of the imitated user, who may have one per dialect.
    package func keys(of name: String, like other: ScramKeys, salts: [[UInt8]]) -> ScramKeys {
        let place = salts.firstIndex(of: other.salt) ?? 0
        return ScramKeys(
            dialect: other.dialect, hash: other.hash, salt: bytes("salt\(place)", name, other.salt.count),
            storedKey: bytes("stored", name, 32), serverKey: bytes("server", name, 32))
    }

    /// Returns a salt of the same length as another one, in the same encoding or of the same kinds of characters.
    private func salt(of name: String, like other: String, letters: Set<UInt8>) -> String {
        let padding = other.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let marks = letters.intersection(Self.marks.flatMap(\.self))
        let form = Self.marks.first { marks.isSubset(of: $0) }
        let digits = Self.alphabets[5] + marks + [UInt8(ascii: "=")]
        if let form, letters.isSubset(of: digits), padding > 0 || !marks.isEmpty {
            // The last digit of Base64 stands for fewer bits than the others, so all digits are encoded from bytes.
            let length = other.utf8.count - padding
            let encoded = Base64.digits(bytes("salt", name, length * 6 / 8))
            let own = encoded.prefix(length).map { $0 == UInt8(ascii: "+") ? form[0] : $0 == UInt8(ascii: "/") ? form[1] : $0 }
            return String(decoding: own + [UInt8](repeating: UInt8(ascii: "="), count: padding), as: UTF8.self)
        }
        let narrowest = Self.alphabets.first { alphabet in letters.allSatisfy { $0 == UInt8(ascii: "=") || alphabet.contains($0) } }
        let alphabet = narrowest ?? Self.alphabets[Self.alphabets.count - 1]
        let draws = bytes("salt", name, other.utf8.count * 2)
        let characters = other.utf8.enumerated().map { place, byte in
            // Padding keeps its place.
            byte == UInt8(ascii: "=") ? byte : alphabet[(Int(draws[2 * place]) << 8 | Int(draws[2 * place + 1])) % alphabet.count]
        }
        return String(decoding: characters, as: UTF8.self)
    }

    /// The characters that distinguish Base64 from letters and digits: in its usual form, and in the one for URLs (RFC 4648 §4, §5).
    private static let marks = [Array("+/".utf8), Array("-_".utf8)]

    /// The alphabets, from the narrowest to the widest.
    private static let alphabets: [[UInt8]] = {
        let digits = Array("0123456789".utf8)
        let (small, great) = (Array("abcdefghijklmnopqrstuvwxyz".utf8), Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8))
        return [
            digits, digits + small.prefix(6), digits + great.prefix(6), small, digits + small, digits + small + great,
            digits + small + great + Array("+/".utf8), digits + small + great + Array("-_".utf8),
            digits + small + great + Array("+/-_.:$ ".utf8),
        ]
    }()

    /// Derives bytes from a name.
    private func bytes(_ purpose: String, _ name: String, _ count: Int) -> [UInt8] {
        var (bytes, block) = ([UInt8](), 0)
        while bytes.count < count {
            bytes += KeyedHash.hmac(Array("\(purpose) \(block) \(name)".utf8), key: key)
            block += 1
        }
        return Array(bytes.prefix(count))
    }
}
