/// One incarnation of a client's store: 128 random bits.
public struct DeviceID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bits: Bits128

    package init(_ bits: Bits128) { self.bits = bits }

    /// Draws one.
    public init(using generator: inout some RandomNumberGenerator) {
        bits = Bits128(high: generator.next(), low: generator.next())
    }

    /// Reads 32 hexadecimal digits.
    public init?(_ text: String) {
        guard let bits = Bits128(digits: text, dashes: false) else { return nil }
        self.bits = bits
    }

    /// 32 hexadecimal digits.
    public var description: String { bits.digits }
    /// As numbers.
    public static func < (lhs: DeviceID, rhs: DeviceID) -> Bool { lhs.bits < rhs.bits }
}
