public import StreamCore

/// Values on their way out, many in one message: what ``WebSocket/telemetry(of:_:)`` gives.
///
/// Recording never waits: values collect until a batch is due, and while there is no connection, within the capacity of the policy.
/// At most one batch is handed to the socket at a time, so whatever else is sent overtakes all that waits here. What a
/// connection had taken when it was lost is not sent again and counts as uncertain; every other value leaves once and in order, or is
/// counted as sampled, dropped or unencodable.
///
/// It keeps its socket alive. When it is released it closes as with ``close(within:)``, and nobody waits for that.
public final class Telemetry<Value: Encodable & Sendable>: Sendable {
    private let socket: WebSocket
    private let line: TelemetryLine<Value>

    init(_ socket: WebSocket, _ options: TelemetryOptions) {
        self.socket = socket
        line = TelemetryLine(socket.session, socket.codec, options)
    }

    deinit { line.close() }

    /// Takes a value, from any task or thread, and returns at once; after the end it is counted as dropped.
    public func record(_ value: Value) { line.record(value) }

    /// What became of all values so far.
    public var counts: TelemetryCounts { line.counts }

    /// Which share of the values is kept at present: 1 unless the link does not keep up, see ``TelemetryOptions/adapts``.
    public var keptShare: Double { line.share.fraction }

    /// Sends what waits without waiting for its batch to be full or old enough.
    ///
    /// - Parameter limit: How long to wait; nil: until there is a connection, and that has taken it.
    /// - Returns: Whether all that had been recorded is gone, see ``counts`` for where to; false if that took too long or the task
    ///   was cancelled, and nothing is lost by that.
    @discardableResult public func flush(within limit: Duration? = nil) async -> Bool { await line.flush(within: limit) }

    /// Takes nothing more, and sends what waits.
    ///
    /// - Parameter limit: How long to wait; nil: until there is a connection, and that has taken it.
    /// - Returns: As ``flush(within:)``.
    @discardableResult public func close(within limit: Duration? = nil) async -> Bool {
        line.close()
        return await line.flush(within: limit)
    }
}
