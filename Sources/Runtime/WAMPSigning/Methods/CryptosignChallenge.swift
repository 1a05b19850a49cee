public import CodecCore
import Crypto
import MachineCore

/// A router's challenge of WAMP-Cryptosign, used once.
public struct CryptosignChallenge: Hashable, Sendable {
    /// What the client is shown.
    public let extra: ValueMap
    private let challenge: [UInt8]
    private let publicKey: [UInt8]

    /// A challenge for the holder of a public key of 64 hexadecimal digits; nil for any other text.
    public init?(publicKey: String) {
        guard let key = Hexadecimal.bytes(publicKey.utf8), key.count == 32 else { return nil }
        (challenge, self.publicKey) = (Nonce.bytes(32), key)
        extra = ["challenge": .text(Hexadecimal.text(challenge)), "channel_binding": .null]
    }

    /// Whether this is the answer of one who has the private key.
    public func isAnswered(by answer: String) -> Bool {
        guard let bytes = Hexadecimal.bytes(answer.utf8), bytes.count == 96, Array(bytes[64...]) == challenge,
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: publicKey)
        else { return false }
        return key.isValidSignature(bytes[..<64], for: challenge)
    }
}
