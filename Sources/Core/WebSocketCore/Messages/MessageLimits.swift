/// The most a peer may send at once.
public struct MessageLimits: Hashable, Sendable {
    /// The most payload bytes of one frame, as they travel (compressed or not); 1 MiB by default.
    public var frame: Int
    /// The most bytes of one message, all its frames together and after decompression; 1 MiB by default.
    public var message: Int
    /// The most frames of one message; 65 536 by default.
    public var fragments: Int

    /// These limits; what is left out has its default.
    public init(frame: Int = 1 << 20, message: Int = 1 << 20, fragments: Int = 65_536) {
        (self.frame, self.message, self.fragments) = (frame, message, fragments)
    }
}
