extension Payload {
    /// A payload of JSON, which is passed on as it is written.
    ///
    /// Nil if the bytes are not one value of JSON in UTF-8 (RFC 8259), its values lie deeper in one another than 64 levels, a string has
    /// a surrogate that is no half of a pair, or a number is beyond a Double.
    public init?(json bytes: [UInt8]) {
        guard Payload.isJSON(bytes) else { return nil }
        self = .json(bytes)
    }

    /// Whether a frame can carry it.
    package var isReadable: Bool {
        switch self {
        case .json(let bytes): Self.isJSON(bytes)
        case .binary: true
        }
    }

    /// Whether the bytes are one value of JSON that a frame can carry.
    ///
    /// - Parameter isStrict: Whether lone surrogates and numbers beyond a Double count; a hub's log may hold some of long ago.
    package static func isJSON(_ bytes: [UInt8], isStrict: Bool = true) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            var reader = unsafe FrameReader(bytes)
            reader.isStrict = isStrict
            do throws(FrameError) {
                try reader.skip()
                try reader.finish()
                return true
            } catch { return false }
        }
    }
}
