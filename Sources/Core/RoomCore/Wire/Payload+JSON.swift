extension Payload {
    /// A payload of JSON, which is passed on as it is written.
    ///
    /// Nil if the bytes are not one value of JSON in UTF-8 (RFC 8259), or its values lie deeper in one another than 64 levels.
    public init?(json bytes: [UInt8]) {
        guard Payload.isJSON(bytes) else { return nil }
        self = .json(bytes)
    }

    /// Whether the bytes are one value of JSON that a frame can carry.
    package static func isJSON(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            var reader = unsafe FrameReader(bytes)
            do throws(FrameError) {
                try reader.skip()
                try reader.finish()
                return true
            } catch { return false }
        }
    }
}
