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
        func number(_ start: Int, _ end: Int) -> UInt64? { unsafe Hexadecimal.number(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) }
        if !dashes {
            guard bytes.count == 32, let high = number(0, 16), let low = number(16, 32) else { return nil }
            self.init(high: high, low: low)
        } else {
            let dash = UInt8(ascii: "-")
            guard bytes.count == 36, unsafe bytes[8] == dash && bytes[13] == dash && bytes[18] == dash && bytes[23] == dash,
                let first = number(0, 8), let second = number(9, 13), let third = number(14, 18), let fourth = number(19, 23),
                let last = number(24, 36)
            else { return nil }
            self.init(high: first << 32 | second << 16 | third, low: fourth << 48 | last)
        }
    }

    package static func < (lhs: Bits128, rhs: Bits128) -> Bool { (lhs.high, lhs.low) < (rhs.high, rhs.low) }

    /// 32 digits, lower case.
    package var digits: String { Hexadecimal.digits(high) + Hexadecimal.digits(low) }
}
