public import SessionCore

/// How a ``PacedSender`` sends.
public struct PacedOptions: Sendable {
    /// The most keys that are kept at once; by default 1000.
    ///
    /// One too many lets the value of another be sent early; while the link takes nothing, the key that has waited longest gives way.
    public var keyLimit = 1000
    /// Where the values stand in the socket's send queue.
    public var lane = Lane.normal
    /// How long closing the socket, or the app's leaving, waits for what is still held; by default a second.
    public var farewell = Duration.seconds(1)
    /// Hears of every value that could not be encoded, as ``TransportError/Code/codec``: it is counted and left out.
    ///
    /// Called on any thread, must not block.
    public var onFailure: (@Sendable (WebSocketError) -> Void)?

    /// The defaults.
    public init() {}
}
