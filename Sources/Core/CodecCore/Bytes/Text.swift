extension String {
    /// Creates a text from bytes; fails if they are not UTF-8.
    @usableFromInline package init?(utf8 bytes: UnsafeRawBufferPointer) {
        let text = unsafe String(decoding: bytes, as: UTF8.self)
        // Decoding replaces invalid UTF-8, which changes the bytes.
        guard unsafe bytes.isASCII || bytes.elementsEqual(text.utf8) else { return nil }
        self = text
    }

    /// The first invisible character, such as `U+202E`; nil if all are visible.
    package var firstHidden: String? {
        unicodeScalars.first(where: \.isHidden).map { scalar in
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether all bytes are ASCII.
    var isASCII: Bool {
        var (offset, bits) = (0, UInt64(0))
        while count &- offset >= 8 {
            unsafe bits |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        while offset < count {
            unsafe bits |= UInt64(self[offset])
            offset &+= 1
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }

    /// Returns whether these bytes are the UTF-8 form of the text.
    package func equals(_ text: String) -> Bool {
        if let same = unsafe text.utf8.withContiguousStorageIfAvailable({ unsafe equals(UnsafeRawBufferPointer($0)) }) { return same }
        return unsafe elementsEqual(text.utf8)
    }

    func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        var offset = 0
        while count &- offset >= 8 {
            let mine = unsafe loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            guard unsafe mine == other.loadUnaligned(fromByteOffset: offset, as: UInt64.self) else { return false }
            offset &+= 8
        }
        while offset < count {
            guard unsafe self[offset] == other[offset] else { return false }
            offset &+= 1
        }
        return true
    }

    /// Whether the bytes are valid UTF-8 (RFC 3629 §4).
    ///
    /// Checked in place, without creating a text.
    package var isUTF8: Bool {
        var offset = 0
        while offset < count {
            if count &- offset >= 8, unsafe loadUnaligned(fromByteOffset: offset, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 {
                offset &+= 8
                continue
            }
            let first = unsafe self[offset]
            if first < 0x80 {
                offset &+= 1
                continue
            }
            // The number of following bytes, and the range of the first of them: excludes overlong forms, surrogates and values that are
            // too large.
            let (more, bounds): (Int, ClosedRange<UInt8>)
            switch first {
            case 0xC2...0xDF: (more, bounds) = (1, 0x80...0xBF)
            case 0xE0: (more, bounds) = (2, 0xA0...0xBF)
            case 0xED: (more, bounds) = (2, 0x80...0x9F)
            case 0xE1...0xEF: (more, bounds) = (2, 0x80...0xBF)
            case 0xF0: (more, bounds) = (3, 0x90...0xBF)
            case 0xF1...0xF3: (more, bounds) = (3, 0x80...0xBF)
            case 0xF4: (more, bounds) = (3, 0x80...0x8F)
            default: return false
            }
            guard count &- offset > more, unsafe bounds.contains(self[offset &+ 1]) else { return false }
            for place in 1..<more {
                guard unsafe self[offset &+ 1 &+ place] & 0xC0 == 0x80 else { return false }
            }
            offset &+= more &+ 1
        }
        return true
    }
}

extension Unicode.Scalar {
    /// Whether the character is invisible, looks like a space but is none, or changes how the surrounding text is displayed.
    ///
    /// Includes directions (U+202A to U+202E, U+2066 to U+2069, U+200E, U+200F, U+061C), characters without a width (U+200B to U+200D,
    /// U+2060, U+FEFF, variation selectors, fillers), tags (U+E0000 to U+E007F), blanks other than U+0020 (such as U+00A0 and U+2800), line
    /// ends and control characters. Such characters make two different names look the same.
    package var isHidden: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        case .spaceSeparator: self != " "
        default: properties.isDefaultIgnorableCodePoint || (0xE0000...0xE0FFF).contains(value) || value == 0x2800
        }
    }
}
