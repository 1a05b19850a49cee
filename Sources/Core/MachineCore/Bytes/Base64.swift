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
    package static func bytes(of text: some Sequence<UInt8>, isCanonical: Bool = true) -> [UInt8]? {
        unsafe Array(text).withUnsafeBytes { unsafe bytes(of: $0, isCanonical: isCanonical) }
    }

    /// The bytes that a text stands for; nil if it is none.
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
