/// Hexadecimal digits of the identities on the wire.
package enum Hexadecimal {
    /// The 16 digits of a number, lower case.
    package static func digits(_ number: UInt64) -> String {
        unsafe String(unsafeUninitializedCapacity: 16) { buffer in
            for place in 0..<16 {
                let nibble = UInt8(truncatingIfNeeded: number >> (60 - 4 * UInt64(place))) & 15
                unsafe buffer[place] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
            }
            return 16
        }
    }

    /// Reads exactly 16 digits.
    package static func number(_ text: String) -> UInt64? {
        var text = text
        return text.withUTF8 { unsafe number(UnsafeRawBufferPointer($0)) }
    }

    /// Reads exactly 16 digits.
    static func number(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
        guard bytes.count == 16 else { return nil }
        var number: UInt64 = 0
        for place in 0..<16 {
            guard let digit = unsafe value(of: bytes[place]) else { return nil }
            number = number << 4 | UInt64(digit)
        }
        return number
    }

    static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
