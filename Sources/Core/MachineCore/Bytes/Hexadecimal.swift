/// Hexadecimal digits; they are read in either case.
package enum Hexadecimal {
    /// Two digits for each byte.
    package static func text(_ bytes: some Sequence<UInt8>, separator: String = "") -> String {
        bytes.map { String(decoding: digits($0), as: UTF8.self) }.joined(separator: separator)
    }

    /// The two digits of a byte, in ASCII.
    package static func digits(_ byte: UInt8, uppercase: Bool = false) -> [UInt8] {
        [byte >> 4, byte & 15].map { $0 < 10 ? UInt8(ascii: "0") + $0 : UInt8(ascii: uppercase ? "A" : "a") + $0 - 10 }
    }

    /// The bytes that pairs of digits stand for; nil if the text is anything else.
    package static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var (bytes, high): ([UInt8], UInt8?) = ([], nil)
        for digit in text {
            guard let value = value(of: digit) else { return nil }
            if let first = high { bytes.append(first << 4 | value) }
            high = high == nil ? value : nil
        }
        return bytes
    }

    /// The number that up to 16 digits stand for; nil if they are anything else.
    package static func number(_ digits: UnsafeRawBufferPointer) -> UInt64? {
        guard 1...16 ~= digits.count else { return nil }
        var number: UInt64 = 0
        for place in 0..<digits.count {
            guard let value = unsafe value(of: digits[place]) else { return nil }
            number = number << 4 | UInt64(value)
        }
        return number
    }

    /// The 16 digits of a number, lower case.
    package static func digits(_ number: UInt64) -> String {
        unsafe withUnsafeBytes(of: words(number)) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The 16 digits of a number, lower case, as they lie in memory.
    package static func words(_ number: UInt64) -> (UInt64, UInt64) { (word(number >> 32), word(number & 0xFFFF_FFFF)) }

    /// A byte for each of eight digits.
    private static func word(_ half: UInt64) -> UInt64 {
        var word = (half | half << 16) & 0x0000_FFFF_0000_FFFF
        word = (word | word << 8) & 0x00FF_00FF_00FF_00FF
        word = (word | word << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // 1 of those that are letters.
        let letters = (word &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (word &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).bigEndian
    }

    /// What a digit stands for; nil if it is none.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
