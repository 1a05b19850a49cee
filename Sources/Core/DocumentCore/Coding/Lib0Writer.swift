/// Writes the encodings of lib0, on which the formats of Yjs are built.
struct Lib0Writer {
    var bytes: [UInt8] = []

    mutating func byte(_ byte: UInt8) { bytes.append(byte) }

    mutating func uint(_ number: UInt64) {
        var rest = number
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func uint(_ number: Int) { uint(UInt64(number)) }
    mutating func uint(_ number: Int32) { uint(UInt64(number)) }

    mutating func int(_ magnitude: UInt64, isNegative: Bool) {
        var rest = magnitude >> 6
        bytes.append(UInt8(magnitude & 0x3F) | (isNegative ? 0x40 : 0) | (rest > 0 ? 0x80 : 0))
        while rest > 0 {
            bytes.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        }
    }

    mutating func int(_ number: Int64) { int(number.magnitude, isNegative: number < 0) }

    mutating func byteString(_ string: [UInt8]) {
        uint(string.count)
        bytes += string
    }

    mutating func string(_ text: String) {
        uint(text.utf8.count)
        bytes += text.utf8
    }

    /// Writes UTF-16 units as a string.
    ///
    /// A lone surrogate becomes U+FFFD.
    mutating func string(_ units: ArraySlice<UInt16>) {
        if units.allSatisfy({ $0 < 0x80 }) {
            uint(units.count)
            bytes.append(utf16: units)
        } else {
            var utf8: [UInt8] = []
            utf8.append(utf16: units)
            byteString(utf8)
        }
    }

    private mutating func integer(_ number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    mutating func any(_ value: DocumentValue) {
        switch value {
        case .undefined: byte(127)
        case .null: byte(126)
        case .bool(let flag): byte(flag ? 120 : 121)
        case .number(let number):
            // JavaScript has one kind of number. lib0 takes the smallest form that holds it exactly.
            if number.rounded(.towardZero) == number, abs(number) <= 2_147_483_647 {
                byte(125)
                int(UInt64(abs(number)), isNegative: number.sign == .minus)
            } else if Double(Float(number)) == number {
                byte(124)
                integer(Float(number).bitPattern)
            } else {
                byte(123)
                integer((number.isNaN ? .nan : number).bitPattern)
            }
        case .bigInteger(let number):
            byte(122)
            integer(number)
        case .text(let text):
            byte(119)
            string(text)
        case .object(let entries):
            byte(118)
            uint(entries.count)
            for entry in entries {
                string(entry.key)
                any(entry.value)
            }
        case .array(let items):
            byte(117)
            uint(items.count)
            for item in items { any(item) }
        case .bytes(let data):
            byte(116)
            byteString(data)
        }
    }
}

extension [UInt8] {
    /// Appends UTF-16 units as UTF-8, a lone surrogate as U+FFFD.
    ///
    /// The standard library transcodes unit by unit through its generic parser, which takes most of the time of reading a text.
    mutating func append(utf16 units: ArraySlice<UInt16>) {
        reserveCapacity(count + units.count)
        var lead: UInt32?
        for unit in units {
            let unit = UInt32(unit)
            if let high = lead {
                lead = nil
                if unit & 0xFC00 == 0xDC00 {
                    append(scalar: 0x10000 + (high & 0x3FF) << 10 | unit & 0x3FF)
                    continue
                }
                append(scalar: 0xFFFD)
            }
            if unit < 0x80 {
                append(UInt8(truncatingIfNeeded: unit))
            } else if unit & 0xFC00 == 0xD800 {
                lead = unit
            } else {
                append(scalar: unit & 0xFC00 == 0xDC00 ? 0xFFFD : unit)
            }
        }
        if lead != nil { append(scalar: 0xFFFD) }
    }

    private mutating func append(scalar: UInt32) {
        func tail(_ shift: UInt32) { append(UInt8(truncatingIfNeeded: scalar >> shift & 0x3F | 0x80)) }
        switch scalar {
        case ..<0x800: append(UInt8(truncatingIfNeeded: scalar >> 6 | 0xC0))
        case ..<0x10000:
            append(UInt8(truncatingIfNeeded: scalar >> 12 | 0xE0))
            tail(6)
        default:
            append(UInt8(truncatingIfNeeded: scalar >> 18 | 0xF0))
            tail(12)
            tail(6)
        }
        tail(0)
    }
}

extension String {
    /// The text of UTF-16 units, with U+FFFD for a lone surrogate.
    init(utf16 units: ArraySlice<UInt16>) {
        var utf8: [UInt8] = []
        utf8.append(utf16: units)
        self.init(decoding: utf8, as: UTF8.self)
    }
}
