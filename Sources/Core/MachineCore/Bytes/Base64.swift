/// Base64 with padding, RFC 4648 §4.
package enum Base64 {
    /// The text that stands for bytes.
    package static func text(_ bytes: [UInt8]) -> String { String(decoding: digits(bytes), as: UTF8.self) }

    /// The text that stands for bytes, in ASCII.
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

    /// The bytes that a text stands for; nil if it is none.
    ///
    /// - Parameter isCanonical: Whether only the one text that an encoder writes is taken: in any other, the last digit has bits that
    ///   stand for nothing.
    @inlinable package static func bytes(of text: some Collection<UInt8>, isCanonical: Bool = true) -> [UInt8]? {
        let count = text.count
        guard count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count / 4 * 3)
        var (bits, digits, padding): (UInt32, Int, Int) = (0, 0, 0)
        for byte in text {
            guard let value = value(of: byte), padding == 0 else {
                padding += 1
                guard byte == UInt8(ascii: "="), padding <= 2 else { return nil }
                continue
            }
            bits = bits << 6 | value
            digits += 1
            guard digits == 4 else { continue }
            bytes.append(UInt8(truncatingIfNeeded: bits >> 16))
            bytes.append(UInt8(truncatingIfNeeded: bits >> 8))
            bytes.append(UInt8(truncatingIfNeeded: bits))
            (bits, digits) = (0, 0)
        }
        guard padding > 0 else { return bytes }
        if isCanonical, bits & (padding == 2 ? 0xF : 0x3) != 0 { return nil }
        bytes.append(UInt8(truncatingIfNeeded: padding == 2 ? bits >> 4 : bits >> 10))
        if padding == 1 { bytes.append(UInt8(truncatingIfNeeded: bits >> 2)) }
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

    @inlinable static func value(of digit: UInt8) -> UInt32? {
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
