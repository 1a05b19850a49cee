extension UnsafeRawBufferPointer {
    /// Removes the first `count` bytes and returns them.
    mutating func takeFirst(_ count: Int) -> UnsafeRawBufferPointer {
        let first = unsafe UnsafeRawBufferPointer(rebasing: self[..<count])
        unsafe self = UnsafeRawBufferPointer(rebasing: self[count...])
        return unsafe first
    }

    /// Copies all bytes, unmasking them if there is a key.
    func copy(to destination: UnsafeMutableRawBufferPointer, mask: MaskKey?, phase: Int) {
        if let mask {
            unsafe mask.copy(self, to: destination, phase: phase)
        } else {
            unsafe destination.copyMemory(from: self)
        }
    }
}

extension [UInt8] {
    /// Appends a piece of a payload, unmasked, when `remaining` bytes of the frame, these included, are still to come.
    ///
    /// A peer may lie about a length, so it buys at most 64 KiB, or three times what has come, of memory in advance.
    mutating func append(_ piece: UnsafeRawBufferPointer, mask: MaskKey?, phase: Int, expecting remaining: Int) {
        let (needed, promised) = (count + piece.count, remaining > Int.max - count ? Int.max : count + remaining)
        let ahead = Swift.min(promised, Swift.max(64 * 1024, needed * 4))
        if ahead > capacity * 2 { reserveCapacity(ahead) }  // Below that, appending grows it geometrically.
        // By blocks that stay in the nearest cache between the copy and the mask.
        var offset = 0
        while offset < piece.count {
            let block = unsafe UnsafeRawBufferPointer(rebasing: piece[offset...].prefix(16 * 1024))
            let start = count
            unsafe append(contentsOf: block)
            if let mask {
                unsafe withUnsafeMutableBytes {
                    unsafe mask.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]), phase: phase + offset)
                }
            }
            offset += block.count
        }
    }
}
