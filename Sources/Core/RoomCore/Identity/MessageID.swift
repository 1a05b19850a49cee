/// An app's name for a message it sends: a UUID.
public struct MessageID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bits: Bits128

    package init(_ bits: Bits128) { self.bits = bits }

    /// Draws a UUID of version 7, which sorts by time.
    ///
    /// - Parameter milliseconds: Since 1970 UTC.
    public init(at milliseconds: Int64, using generator: inout some RandomNumberGenerator) {
        // RFC 9562 §5.7: 48 bits of time, the version, chance, the variant, chance.
        let time = UInt64(clamping: milliseconds) & 0xFFFF_FFFF_FFFF
        bits = Bits128(
            high: time << 16 | 0x7000 | UInt64.random(in: 0...0xFFF, using: &generator),
            low: 1 << 63 | UInt64.random(in: 0..<(1 << 62), using: &generator))
    }

    /// Reads a UUID, with its dashes.
    public init?(_ text: String) {
        guard let bits = Bits128(digits: text, dashes: true) else { return nil }
        self.bits = bits
    }

    /// With dashes, lower case.
    public var description: String {
        let digits = Array(bits.digits.utf8)
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(decoding: digits[$0], as: UTF8.self) }
        return parts.joined(separator: "-")
    }
    /// As numbers: those of version 7 by their time.
    public static func < (lhs: MessageID, rhs: MessageID) -> Bool { lhs.bits < rhs.bits }
}
