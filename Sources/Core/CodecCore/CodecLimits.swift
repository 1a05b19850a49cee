/// What bytes of a peer may ask of a decoder.
public struct CodecLimits: Hashable, Sendable {
    /// How deep values may lie in one another; a scalar alone has depth 0.
    ///
    /// Each level costs some of the stack of the thread, so set it no higher than the data needs.
    public var maximumDepth: Int
    /// How many bytes there may be.
    public var maximumBytes: Int

    /// Limits; 128 levels and 64 MiB unless told otherwise.
    public init(maximumDepth: Int = 128, maximumBytes: Int = 64 << 20) {
        (self.maximumDepth, self.maximumBytes) = (maximumDepth, maximumBytes)
    }

    /// 128 levels and 64 MiB.
    public static let standard = CodecLimits()
}
