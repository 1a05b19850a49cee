import MachineCore

extension ByteWriter {
    /// Appends a string with its quotes; only what must be escaped is, RFC 8259 §7.
    package mutating func jsonText(_ text: String) {
        append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { unsafe self.jsonEscaped(UnsafeRawBufferPointer($0)) }
        append(UInt8(ascii: "\""))
    }

    private mutating func jsonEscaped(_ utf8: UnsafeRawBufferPointer) {
        var (reader, plain) = (unsafe ByteReader(utf8), 0)
        while let place = reader.nextSpecial() {
            unsafe append(reader.bytes(from: plain, to: place))
            plain = place + 1
            append(UInt8(ascii: "\\"))
            switch unsafe utf8[place] {
            case UInt8(ascii: "\n"): append(UInt8(ascii: "n"))
            case UInt8(ascii: "\r"): append(UInt8(ascii: "r"))
            case UInt8(ascii: "\t"): append(UInt8(ascii: "t"))
            case let byte where byte < 0x20: append(all: "u00".utf8 + Hexadecimal.digits(byte))
            case let byte: append(byte)
            }
        }
        unsafe append(reader.bytes(from: plain, to: utf8.count))
    }

    /// Appends the digits of an integer.
    package mutating func digits(_ number: UInt64) {
        if number < 10 { return append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number)) }
        var (left, width) = (number, 1)
        while left >= 10 { (left, width) = (left / 10, width &+ 1) }
        reserve(width)
        left = number
        // They come from the last to the first.
        for place in stride(from: count &+ width &- 1, through: count, by: -1) {
            set(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: left % 10), at: place)
            left /= 10
        }
        count &+= width
    }

    /// Appends an integer.
    package mutating func integer(_ number: Int64) {
        if number < 0 { append(UInt8(ascii: "-")) }
        digits(number.magnitude)
    }

    /// Appends text that is known to be ASCII, or UTF-8, without quotes.
    package mutating func plain(_ text: String) {
        var text = text
        text.withUTF8 { unsafe self.append(UnsafeRawBufferPointer($0)) }
    }
}
