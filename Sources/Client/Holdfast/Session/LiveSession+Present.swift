import WebSocketCore
import WebSocketRuntime

/// The connection for those who need that one and no other.
extension LiveSession {
    /// The present connection, unless it has ended and its loss is about to be noticed.
    var usable: WebSocketConnection? { connection?.closeRecord == nil ? connection : nil }

    /// The present connection; waits for one while there is none.
    func presentConnection() async throws(WebSocketError) -> WebSocketConnection {
        while true {
            let version = changes.version
            if let usable { return usable }
            if isClosed || isStopping { throw closedError }
            if Task.isCancelled { throw .cancelledRequest }
            await changes.next(after: version)
        }
    }
}
