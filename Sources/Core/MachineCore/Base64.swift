/// Base64 with padding, RFC 4648 §4.
package enum Base64 {
    /// Returns the Base64 text of the bytes.
    package static func text(_ bytes: [UInt8]) -> String { String(decoding: digits(bytes), as: UTF8.self) }

    /// Returns the Base64 text of the bytes, as ASCII.
    package static func digits(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for place in stride(from: 0, to: bytes.count, by: 3) {
            let left = bytes.count - place
            let bits =
                UInt32(bytes[place]) << 16 | (left > 1 ? UInt32(bytes[place + 1]) << 8 : 0) | (left > 2 ? UInt32(bytes[place + 2]) : 0)
            text.append(digit(bits >> 18))
            text.append(digit(bits >> 12))
            text.append(left > 1 ? digit(bits >> 6) : UInt8(ascii: "="))
            text.append(left > 2 ? digit(bits) : UInt8(ascii: "="))
        }
        return text
    }

    /// Decodes a Base64 text; returns nil if the text is not valid Base64.
    ///
    /// - Parameter isCanonical: Whether to reject a text whose last digit has unused bits that are not zero. No encoder writes such a text.
    package static func bytes(of text: some Sequence<UInt8>, isCanonical: Bool = true) -> [UInt8]? {
        unsafe Array(text).withUnsafeBytes { unsafe bytes(of: $0, isCanonical: isCanonical) }
    }

    /// Decodes a Base64 text; returns nil if the text is not valid Base64.
    package static func bytes(of text: UnsafeRawBufferPointer, isCanonical: Bool = true) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        guard text.count > 0 else { return [] }
        let padding = unsafe text[text.count - 1] != UInt8(ascii: "=") ? 0 : text[text.count - 2] != UInt8(ascii: "=") ? 1 : 2
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        for start in stride(from: 0, to: text.count, by: 4) {
            let missing = start + 4 == text.count ? padding : 0
            var bits: UInt32 = 0
            for place in 0..<4 {
                guard place < 4 - missing else { break }
                guard let value = unsafe value(of: text[start + place]) else { return nil }
                bits |= value << UInt32(18 - 6 * place)
            }
            if isCanonical, bits & (missing == 2 ? 0xFFFF : missing == 1 ? 0xFF : 0) != 0 { return nil }
            bytes.append(UInt8(truncatingIfNeeded: bits >> 16))
            if missing < 2 { bytes.append(UInt8(truncatingIfNeeded: bits >> 8)) }
            if missing < 1 { bytes.append(UInt8(truncatingIfNeeded: bits)) }
        }
        return bytes
    }

    private static func digit(_ bits: UInt32) -> UInt8 {
        switch UInt8(truncatingIfNeeded: bits & 63) {
        case let value where value < 26: UInt8(ascii: "A") + value
        case let value where value < 52: UInt8(ascii: "a") + (value - 26)
        case let value where value < 62: UInt8(ascii: "0") + (value - 52)
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// Hexadecimal digits.
///
/// Both cases are accepted when reading.
package enum Hexadecimal {
    /// Returns two digits for each byte.
    package static func text(_ bytes: some Sequence<UInt8>, separator: String = "") -> String {
        bytes.map { String(decoding: digits($0), as: UTF8.self) }.joined(separator: separator)
    }

    /// Returns the two digits of a byte, as ASCII.
    package static func digits(_ byte: UInt8, uppercase: Bool = false) -> [UInt8] {
        [byte >> 4, byte & 15].map { $0 < 10 ? UInt8(ascii: "0") + $0 : UInt8(ascii: uppercase ? "A" : "a") + $0 - 10 }
    }

    /// Decodes pairs of digits; returns nil if the text contains anything else.
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

    /// Decodes up to 16 digits as a number; returns nil if they are anything else.
    package static func number(_ digits: UnsafeRawBufferPointer) -> UInt64? {
        guard 1...16 ~= digits.count else { return nil }
        var number: UInt64 = 0
        for place in 0..<digits.count {
            guard let value = unsafe value(of: digits[place]) else { return nil }
            number = number << 4 | UInt64(value)
        }
        return number
    }

    /// Returns the 16 digits of a number, in lower case.
    package static func digits(_ number: UInt64) -> String {
        unsafe withUnsafeBytes(of: words(number)) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the 16 digits of a number, in lower case, as they lie in memory.
    package static func words(_ number: UInt64) -> (UInt64, UInt64) { (word(number >> 32), word(number & 0xFFFF_FFFF)) }

    /// Returns one byte for each of eight digits.
    private static func word(_ half: UInt64) -> UInt64 {
        var word = (half | half << 16) & 0x0000_FFFF_0000_FFFF
        word = (word | word << 8) & 0x00FF_00FF_00FF_00FF
        word = (word | word << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // 1 in each byte whose digit is a letter.
        let letters = (word &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (word &+ 0x3030_3030_3030_3030 &+ letters &* 0x27).bigEndian
    }

    /// Returns the value of a digit; nil if the byte is not a digit.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
