public import SessionCore
public import StreamCore

/// How values are collected, and when there are fewer of them: see ``WebSocket/telemetry(of:_:)``.
public struct TelemetryOptions: Sendable {
    /// When a batch leaves, and how many values may wait for theirs.
    public var batch = BatchPolicy()
    /// When the series is thinned out because the link does not keep up; nil: never, and where there is no room the oldest gives way.
    public var adapts: AdaptiveRatePolicy?
    /// Where batches stand in the socket's send queue; by default behind all else.
    public var lane = Lane.bulk
    /// How long closing the socket, or the app's leaving, waits for what is still held; by default a second.
    public var farewell = Duration.seconds(1)
    /// Hears of every value that could not be encoded, as ``TransportError/Code/codec``: it is counted and left out, and its batch goes on.
    ///
    /// Called on any thread, must not block.
    public var onFailure: (@Sendable (WebSocketError) -> Void)?

    /// The defaults.
    public init() {}
}
