import CodecCore
import MachineCore

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
