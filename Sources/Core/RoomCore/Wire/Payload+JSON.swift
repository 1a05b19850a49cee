extension Payload {
    /// A payload of JSON, which is passed on as it is written, but for white space around it.
    ///
    /// Nil if the bytes are not one value of JSON in UTF-8 (RFC 8259), its values lie deeper in one another than 64 levels, a string has
    /// a surrogate that is no half of a pair, or a number is beyond a Double.
    public init?(json bytes: [UInt8]) {
        guard let value = Payload.value(ofJSON: bytes) else { return nil }
        self = .json(value)
    }

    /// Whether a frame can carry it.
    package var isReadable: Bool {
        switch self {
        case .json(let bytes): Self.value(ofJSON: bytes) != nil
        case .binary: true
        }
    }

    /// The one value of JSON that the bytes are; nil if they are none that a frame can carry.
    ///
    /// White space around it is left out, for it would get lost in a frame of JSON.
    ///
    /// - Parameter isStrict: Whether lone surrogates and numbers beyond a Double are refused; a hub's log may hold some of long ago.
    package static func value(ofJSON bytes: [UInt8], isStrict: Bool = true) -> [UInt8]? {
        unsafe bytes.withUnsafeBytes { raw in
            var reader = unsafe FrameReader(raw)
            reader.isStrict = isStrict
            do throws(FrameError) {
                let range = try reader.range()
                try reader.finish()
                return range.count == bytes.count ? bytes : [UInt8](bytes[range])
            } catch { return nil }
        }
    }
}
