package import WebSocketCore

/// What one connection may cost at most; all in bytes unless said otherwise.
public struct WebSocketLimits: Hashable, Sendable {
    /// The largest message taken, all fragments together and after inflating.
    ///
    /// A larger one ends the connection with 1009, and the error names this limit. A `WebSocket` connects again after that unless
    /// `LossTable` says otherwise.
    public var message = 1 << 20
    /// The largest frame taken, as it is on the wire; nil: a quarter more than a message, for
    /// what does not compress grows when compressed.
    public var frame: Int?
    /// The largest number of fragments of one message.
    public var fragments = 65_536
    /// The largest head of the handshake, request or response.
    public var head = 16 * 1024
    /// How much of the body of a refused upgrade is kept.
    public var refusalBody = 4096
    /// How much may be received and not yet taken by the app before reading stops.
    ///
    /// Whoever takes messages may hold another 32 KiB at hand. While reading is stopped the peer's pings wait for their pongs too; closing
    /// reads on.
    public var receiveBuffer = 256 * 1024
    /// How much may be handed over for sending before `send` waits.
    public var sendBuffer = 64 * 1024

    /// The defaults.
    public init() {}

    package var messageLimits: MessageLimits {
        let (most, isTooMuch) = message.addingReportingOverflow(message / 4 + 64)
        return MessageLimits(frame: frame ?? (isTooMuch ? .max : most), message: message, fragments: fragments)
    }
}
