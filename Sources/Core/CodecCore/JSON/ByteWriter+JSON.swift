extension ByteWriter {
    /// Appends a string with its quotes; only what must be escaped is, RFC 8259 §7.
    package mutating func jsonText(_ text: String) {
        append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { unsafe self.jsonEscaped(UnsafeRawBufferPointer($0)) }
        append(UInt8(ascii: "\""))
    }

    private mutating func jsonEscaped(_ utf8: UnsafeRawBufferPointer) {
        var plain = 0
        for place in 0..<utf8.count {
            let byte = unsafe utf8[place]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            unsafe append(UnsafeRawBufferPointer(rebasing: utf8[plain..<place]))
            plain = place + 1
            append(UInt8(ascii: "\\"))
            switch byte {
            case UInt8(ascii: "\n"): append(UInt8(ascii: "n"))
            case UInt8(ascii: "\r"): append(UInt8(ascii: "r"))
            case UInt8(ascii: "\t"): append(UInt8(ascii: "t"))
            case 0..<0x20:
                for character in "u00".utf8 { append(character) }
                append(UInt8(ascii: "0") + byte >> 4)
                append(byte & 15 < 10 ? UInt8(ascii: "0") + byte & 15 : UInt8(ascii: "a") + (byte & 15) - 10)
            default: append(byte)
            }
        }
        unsafe append(UnsafeRawBufferPointer(rebasing: utf8[plain...]))
    }

    /// Appends the digits of an integer.
    package mutating func digits(_ number: UInt64) {
        if number < 10 { return append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number)) }
        var divisor: UInt64 = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }

    /// Appends text that is known to be ASCII, or UTF-8, without quotes.
    package mutating func plain(_ text: String) {
        var text = text
        text.withUTF8 { unsafe self.append(UnsafeRawBufferPointer($0)) }
    }
}
