import Crypto
import RoomCore

/// Under which devices the hub stores what programs publish under names of their own.
///
/// A client chooses its device, and may guess a name: so the device of a name follows from it by a key that only the log knows. The names of
/// one program, and of one user, are none of another's.
struct PublicationNames: Sendable {
    /// How many bytes a key has.
    static let keyLength = 32
    /// How many bytes all these devices begin with.
    static let prefixLength = 6

    private let key: SymmetricKey
    /// What all these devices begin with, so that the log can tell them from those of clients; other logs have another one.
    let prefix: [UInt8]

    init(key bytes: [UInt8]) {
        key = SymmetricKey(data: bytes)
        prefix = Array(HMAC<SHA256>.authenticationCode(for: Array("prefix".utf8), using: key).prefix(Self.prefixLength))
    }

    /// Names under a key that nobody has drawn before.
    static func drawn() -> PublicationNames { PublicationNames(key: drawnKey()) }

    static func drawnKey() -> [UInt8] {
        var chance = SystemRandomNumberGenerator()
        return (0..<keyLength).map { _ in UInt8.random(in: 0...255, using: &chance) }
    }

    /// The device of a name.
    ///
    /// - Parameter program: The key that a program has shown; nil: the one that the hub is a part of.
    func device(for name: MessageID, of user: UserName, program: String?) -> DeviceID {
        var hash = HMAC<SHA256>(key: key)
        // Each part ends before the next begins: neither holds a zero byte.
        for part in ["device", program ?? "", user.text] { hash.update(data: Array(part.utf8) + [0]) }
        hash.update(data: Array(name.bits.digits.utf8))
        let bytes = prefix + Array(hash.finalize()).prefix(16 - Self.prefixLength)
        func number(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        return DeviceID(Bits128(high: number(bytes[..<8]), low: number(bytes[8...])))
    }
}
