extension MessageReader {
    /// The next frame if it is a whole uncompressed message that lies in `bytes` entirely, which then move on past it.
    ///
    /// The fast path: most frames of most connections are such. For nil, ``next(_:)`` knows what it is: it finds the violations, too.
    @inlinable @inline(__always)
    public mutating func nextLone(_ bytes: inout UnsafeRawBufferPointer) -> LoneFrame? {
        let available = bytes.count
        guard takesLone, available >= 2, let base = bytes.baseAddress else { return nil }
        let (first, second) = unsafe (base.load(as: UInt8.self), base.load(fromByteOffset: 1, as: UInt8.self))
        let maskBit: UInt8 = role == .server ? 0x80 : 0
        // FIN without RSV, on text or binary; masked just when it has to be (RFC 6455 §5.1, §5.2).
        guard first == 0x81 || first == 0x82, second & 0x80 == maskBit else { return nil }
        var (count, offset) = (Int(second & 0x7F), 2)
        if count == 126 {
            guard available >= 4 else { return nil }
            count = Int(UInt16(bigEndian: unsafe base.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            guard count > 125 else { return nil }
            offset = 4
        } else if count == 127 {
            guard available >= 10 else { return nil }
            let long = UInt64(bigEndian: unsafe base.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            guard long > 0xFFFF, long <= UInt64(available) else { return nil }
            (count, offset) = (Int(long), 10)
        }
        let header = offset &+ (maskBit == 0 ? 0 : 4)
        guard count <= longestLone, available &- header >= count else { return nil }
        let mask = maskBit == 0 ? nil : MaskKey(bits: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        let payload = unsafe UnsafeRawBufferPointer(start: base + header, count: count)
        unsafe bytes = UnsafeRawBufferPointer(start: base + header + count, count: available &- header &- count)
        return unsafe LoneFrame(kind: first == 0x81 ? .text : .binary, mask: mask, payload: payload)
    }

    /// How many bytes the frame takes that begins with `bytes`, header and all, if ``nextLone(_:)`` will take it once they are there.
    ///
    /// Whoever has a place for them may keep the bytes there and read the rest behind them, instead of handing over a part.
    /// Nil when the header is not whole or not that of such a frame, or announces more than is allowed.
    public func lengthOfLone(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard takesLone, let (header, length) = try? unsafe FrameHeader.parse(bytes, allowsCompression: false) else { return nil }
        guard header.isFinal, header.opcode == .text || header.opcode == .binary else { return nil }
        guard (header.mask != nil) == (role == .server), header.payloadLength <= min(longestLone, .max - length) else { return nil }
        return length + header.payloadLength
    }
}
