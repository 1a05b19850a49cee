import MachineCore

/// 128 bits, written as hexadecimal digits.
package struct Bits128: Hashable, Comparable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// Reads exactly 32 hexadecimal digits, with the dashes of a UUID if they must stand there.
    package init?(digits text: String, dashes: Bool) {
        var text = text
        guard let bits = text.withUTF8({ unsafe Bits128(digits: UnsafeRawBufferPointer($0), dashes: dashes) }) else { return nil }
        self = bits
    }

    /// Reads exactly 32 hexadecimal digits, with the dashes of a UUID if they must stand there.
    init?(digits bytes: UnsafeRawBufferPointer, dashes: Bool) {
        guard bytes.count == (dashes ? 36 : 32) else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for place in 0..<bytes.count {
            let byte = unsafe bytes[place]
            if dashes, place == 8 || place == 13 || place == 18 || place == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = Hexadecimal.value(of: byte) else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(digit)
        }
        self.init(high: high, low: low)
    }

    package static func < (lhs: Bits128, rhs: Bits128) -> Bool { (lhs.high, lhs.low) < (rhs.high, rhs.low) }

    /// 32 digits, lower case.
    package var digits: String { Hexadecimal.digits(high) + Hexadecimal.digits(low) }
}
