extension UnsafeRawBufferPointer {
    /// Whether the bytes are UTF-8, as RFC 3629 §4 has it: found out in place, without making a text of them.
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
            // How many bytes follow, and within which bounds the first of them lies: no overlong forms, no surrogates, nothing too large.
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
