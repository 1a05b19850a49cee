public import StreamCore

/// Sends the values that matter of many: what ``WebSocket/sender(of:throttle:edges:by:_:)`` and
/// ``WebSocket/sender(of:debounce:longestWait:edges:by:_:)`` give.
///
/// Sending never waits. One value at a time is handed to the socket, and while the link takes no more, or is not there, only the newest value
/// of each key waits. It keeps its socket alive. When it is released what waits is sent at once.
public final class PacedSender<Value: Encodable & Sendable>: Sendable {
    private let socket: WebSocket
    private let line: any PacedInlet<Value>

    init(_ socket: WebSocket, _ line: any PacedInlet<Value>) { (self.socket, self.line) = (socket, line) }

    deinit { line.close() }

    /// Takes a value, from any task or thread, and returns at once; after the end it is counted as dropped.
    public func send(_ value: Value) { line.send(value) }

    /// What became of all values so far; those for which newer ones were sent are the sampled ones.
    public var counts: TelemetryCounts { line.counts }

    /// Sends what waits now.
    ///
    /// - Parameter limit: How long to wait; nil: until there is a connection, and that has taken it.
    /// - Returns: Whether nothing waits any more; false if that took too long or the task was cancelled, and nothing is lost by that.
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
