/// 128 bits, written as hexadecimal digits.
package struct Bits128: Hashable, Comparable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// Reads 32 hexadecimal digits; dashes are passed over if they may stand there.
    package init?(digits text: String, dashes: Bool) {
        var (high, low, count): (UInt64, UInt64, Int) = (0, 0, 0)
        for (place, byte) in text.utf8.enumerated() {
            if byte == UInt8(ascii: "-"), dashes, [8, 13, 18, 23].contains(place) { continue }
            guard let digit = Hexadecimal.value(of: byte), count < 32 else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(digit)
            count += 1
        }
        guard count == 32, !dashes || text.utf8.count == 36 else { return nil }
        self.init(high: high, low: low)
    }

    package static func < (lhs: Bits128, rhs: Bits128) -> Bool { (lhs.high, lhs.low) < (rhs.high, rhs.low) }

    /// 32 digits, lower case.
    package var digits: String { Hexadecimal.digits(high) + Hexadecimal.digits(low) }
}
