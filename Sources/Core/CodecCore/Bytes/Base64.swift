/// Base64 with padding, RFC 4648 §4.
package enum Base64 {
    /// Appends the text that stands for bytes, in ASCII.
    package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        var place = 0
        while place < bytes.count {
            let left = bytes.count - place
            let bits =
                UInt32(bytes[place]) << 16 | (left > 1 ? UInt32(bytes[place + 1]) << 8 : 0) | (left > 2 ? UInt32(bytes[place + 2]) : 0)
            text.append(digit(bits >> 18))
            text.append(digit(bits >> 12))
            text.append(left > 1 ? digit(bits >> 6) : UInt8(ascii: "="))
            text.append(left > 2 ? digit(bits) : UInt8(ascii: "="))
            place += 3
        }
    }

    /// The bytes that a text stands for; nil if it is not the one text that stands for them.
    package static func bytes(of text: UnsafeRawBufferPointer) -> [UInt8]? {
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
            // Bits that stand for nothing are 0.
            guard bits & (missing == 2 ? 0xFFFF : missing == 1 ? 0xFF : 0) == 0 else { return nil }
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
