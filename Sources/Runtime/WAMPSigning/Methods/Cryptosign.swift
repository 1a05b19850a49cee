public import CodecCore
import Crypto
import MachineCore

/// A private key of WAMP-Cryptosign: Ed25519, RFC 8032.
///
/// Channel binding is not requested. Source: WAMP, "Cryptosign-based Authentication".
public struct CryptosignKey: Sendable {
    private let key: Curve25519.Signing.PrivateKey
    /// The public key, as 64 hexadecimal digits; routers identify clients by it.
    public let publicKey: String

    /// Creates the key from a seed of 32 bytes, which other tools call the private key.
    ///
    /// - Throws: ``SigningError/key`` for any other length.
    public init(seed: [UInt8]) throws(SigningError) {
        guard seed.count == 32, let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed) else { throw .key }
        self.init(key)
    }

    /// Creates the key from a seed of 64 hexadecimal digits.
    ///
    /// - Throws: ``SigningError/key`` for any other text.
    public init(hexadecimal seed: String) throws(SigningError) {
        guard let seed = Hexadecimal.bytes(seed.utf8) else { throw .key }
        try self.init(seed: seed)
    }

    /// Generates a new key.
    public init() { self.init(Curve25519.Signing.PrivateKey()) }

    private init(_ key: Curve25519.Signing.PrivateKey) {
        (self.key, publicKey) = (key, Hexadecimal.text(key.publicKey.rawRepresentation))
    }

    /// The seed of the key, which must be stored, and kept secret.
    public var seed: [UInt8] { Array(key.rawRepresentation) }

    /// Returns a client's answer to a challenge: the signature and the signed challenge, in hexadecimal digits.
    ///
    /// - Throws: A ``SigningError`` if the challenge does not have 32 bytes.
    public func answer(_ extra: ValueMap) throws(SigningError) -> String {
        guard let challenge = extra["challenge"]?.string.flatMap({ Hexadecimal.bytes($0.utf8) }), challenge.count == 32 else {
            throw .field("challenge")
        }
        guard let signature = try? key.signature(for: challenge) else { throw .key }
        return Hexadecimal.text(Array(signature) + challenge)
    }
}

extension CryptosignKey: CustomStringConvertible, CustomReflectable {
    /// The public key.
    public var description: String { "the private key of \(publicKey)" }
    /// The public key, so that neither `dump` nor a crash report contains the private one.
    public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}

/// A router's challenge of WAMP-Cryptosign, used once.
public struct CryptosignChallenge: Hashable, Sendable {
    /// The challenge as it is sent to the client.
    public let extra: ValueMap
    private let challenge: [UInt8]
    private let publicKey: [UInt8]

    /// Creates a challenge for the holder of a public key of 64 hexadecimal digits; returns nil for any other text.
    public init?(publicKey: String) {
        guard let key = Hexadecimal.bytes(publicKey.utf8), key.count == 32 else { return nil }
        (challenge, self.publicKey) = (Nonce.bytes(32), key)
        extra = ["challenge": .text(Hexadecimal.text(challenge)), "channel_binding": .null]
    }

    /// Whether this is the correct answer, which proves that the client has the private key.
    public func isAnswered(by answer: String) -> Bool {
        guard let bytes = Hexadecimal.bytes(answer.utf8), bytes.count == 96, Array(bytes[64...]) == challenge,
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: publicKey)
        else { return false }
        return key.isValidSignature(bytes[..<64], for: challenge)
    }
}
