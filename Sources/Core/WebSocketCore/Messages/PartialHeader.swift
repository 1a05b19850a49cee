/// The bytes of a frame header that was cut by the end of a read.
struct PartialHeader {
    private var storage = SIMD16<UInt8>()
    private var count = 0

    /// Whether nothing of a header has come.
    var isEmpty: Bool { count == 0 }

    /// The header that ends in `bytes`; nil when all of `bytes` is kept and more is needed.
    mutating func read(_ bytes: inout UnsafeRawBufferPointer, allowsCompression: Bool) throws(ProtocolViolation) -> FrameHeader? {
        if count == 0, let (header, length) = try unsafe FrameHeader.parse(bytes, allowsCompression: allowsCompression) {
            _ = unsafe bytes.takeFirst(length)
            return header
        }
        let (before, added) = (count, min(FrameHeader.maximumLength - count, bytes.count))
        let parsed = try unsafe withUnsafeMutableBytes(of: &storage) { raw throws(ProtocolViolation) in
            unsafe raw[before...].copyBytes(from: bytes.prefix(added))
            let collected = unsafe UnsafeRawBufferPointer(rebasing: raw[..<(before + added)])
            return try unsafe FrameHeader.parse(collected, allowsCompression: allowsCompression)
        }
        _ = unsafe bytes.takeFirst(parsed.map { $0.length - before } ?? added)
        count = parsed == nil ? before + added : 0
        return parsed?.header
    }
}
