import Crypto
import RoomCore

/// Derives the devices under which the hub stores publications that programs gave their own IDs.
///
/// A client chooses its device and may guess an ID. So the device is derived from the ID with a key that only the log knows. The devices
/// are separate for each program and each user.
struct PublicationNames: Sendable {
    /// The length of a key in bytes.
    static let keyLength = 32
    /// The length of the common prefix of these devices in bytes.
    static let prefixLength = 6

    private let key: SymmetricKey
    /// The common prefix of these devices, by which the log distinguishes them from clients' devices; each log has its own.
    let prefix: [UInt8]

    init(key bytes: [UInt8]) {
        key = SymmetricKey(data: bytes)
        prefix = Array(HMAC<SHA256>.authenticationCode(for: Array("prefix".utf8), using: key).prefix(Self.prefixLength))
    }

    /// Creates names with a new random key.
    static func drawn() -> PublicationNames { PublicationNames(key: drawnKey()) }

    static func drawnKey() -> [UInt8] {
        var chance = SystemRandomNumberGenerator()
        return (0..<keyLength).map { _ in UInt8.random(in: 0...255, using: &chance) }
    }

    /// Returns the device of an ID.
    ///
    /// - Parameter program: The API key of the program; nil: the program that contains the hub.
    func device(for name: MessageID, of user: UserName, program: String?) -> DeviceID {
        var hash = HMAC<SHA256>(key: key)
        // Each part ends before the next begins, because no part contains a zero byte.
        for part in ["device", program ?? "", user.text] { hash.update(data: Array(part.utf8) + [0]) }
        hash.update(data: Array(name.bits.digits.utf8))
        let bytes = prefix + Array(hash.finalize()).prefix(16 - Self.prefixLength)
        func number(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        return DeviceID(Bits128(high: number(bytes[..<8]), low: number(bytes[8...])))
    }
}
