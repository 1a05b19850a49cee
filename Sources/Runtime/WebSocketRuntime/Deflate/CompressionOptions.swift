public import WebSocketCore

/// Whether and how messages are compressed with permessage-deflate (RFC 7692).
///
/// What one connection may cost in memory, in KiB; each half is allocated at the first compressed message of its direction:
///
/// | window bits | sending, memory level 9 | 8 | 5 | 1 | receiving |
/// |---|---|---|---|---|---|
/// | 15 | 390 | 262 | 150 | 135 | 40 |
/// | 12 | 278 | 150 | 38 | 23 | 12 |
/// | 9 | 264 | 136 | 24 | 9 | 8 |
///
/// Without context takeover the same memory is kept, for the next message; only what messages have in common goes unused.
public struct CompressionOptions: Hashable, Sendable {
    /// How hard to look for repetition when sending, `1...9`: from fastest to smallest; kept within that range.
    public var level: Int { didSet { level = Self.kept(level) } }
    /// How much memory to spend when sending, `1...9`; kept within that range.
    public var memoryLevel: Int { didSet { memoryLevel = Self.kept(memoryLevel) } }
    /// Messages of fewer bytes than this are sent as they are; 256 by default.
    public var threshold: Int
    /// What to agree on in the opening handshake: windows and context takeover.
    public var preferences: DeflatePreferences

    /// Makes options; by default for a server or an app with a few connections that sends mostly text.
    public init(level: Int = 6, memoryLevel: Int = 8, threshold: Int = 256, preferences: DeflatePreferences = .init()) {
        (self.level, self.memoryLevel) = (Self.kept(level), Self.kept(memoryLevel))
        (self.threshold, self.preferences) = (threshold, preferences)
    }

    private static func kept(_ level: Int) -> Int { min(max(level, 1), 9) }
}
