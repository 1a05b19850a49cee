extension String {
    /// A string of bytes that are known to be UTF-8, which saves checking them again where the standard library can.
    init(validated bytes: UnsafeRawBufferPointer, isASCII: Bool) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            let span = unsafe UTF8Span(unchecked: bytes.bindMemory(to: UInt8.self).span, isKnownASCII: isASCII)
            self = String(copying: span)
        } else {
            self = unsafe String(decoding: bytes, as: UTF8.self)
        }
    }
}
