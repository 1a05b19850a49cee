extension String {
    /// The text of bytes, if they are UTF-8.
    @usableFromInline package init?(utf8 bytes: UnsafeRawBufferPointer) {
        let text = unsafe String(decoding: bytes, as: UTF8.self)
        // Decoding mends what is not UTF-8, and then the bytes are others.
        guard unsafe bytes.isASCII || bytes.elementsEqual(text.utf8) else { return nil }
        self = text
    }
}

extension UnsafeRawBufferPointer {
    /// Whether no byte has its highest bit set.
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

    /// Whether these are the bytes of the text in UTF-8.
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
}
