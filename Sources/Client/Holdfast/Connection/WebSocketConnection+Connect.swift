public import Foundation
import WebSocketCore
import WebSocketRuntime

#if SwiftNIO
    import WebSocketNIO
#endif

extension WebSocketConnection {
    /// Connects and shakes hands.
    ///
    /// For code that cannot be scoped; otherwise prefer ``withConnection(to:configuration:_:)-(String,_,_)``. In a build without the
    /// package's trait SwiftNIO, Apple platforms connect through `URLSession`, as `connectOverURLSession(to:configuration:)` tells, and
    /// others cannot connect: ``TransportError/Code/invalidConfiguration``.
    ///
    /// - Parameters:
    ///   - url: `ws://host:port/path?query` or `wss://…`.
    ///   - configuration: What the connection obeys.
    /// - Throws: ``WebSocketError``: a bad URL, no route, a timeout, a TLS failure, a refusal with its status, headers and
    ///   the first bytes of its body; ``TransportError/Code/cancelled`` at once if the task is cancelled.
    public static func connect(
        to url: String, configuration: WebSocketConfiguration = WebSocketConfiguration()
    ) async throws(WebSocketError) -> WebSocketConnection {
        #if SwiftNIO
            let options = try ClientOptions(url, configuration)
            do throws(TransportError) {
                return WebSocketConnection(try await NIOConnector.connectFollowing(options), pingTimeout: configuration.timeouts.ping)
            } catch {
                throw WebSocketError(error.hiding(options.secrets))
            }
        #elseif canImport(Darwin)
            return try await connectOverURLSession(to: url, configuration: configuration)
        #else
            throw WebSocketError(TransportError(.invalidConfiguration, "Holdfast was built without its trait SwiftNIO: it cannot connect"))
        #endif
    }

    /// Connects and shakes hands; otherwise as ``connect(to:configuration:)-(String,_)``.
    public static func connect(
        to url: URL, configuration: WebSocketConfiguration = WebSocketConfiguration()
    ) async throws(WebSocketError) -> WebSocketConnection {
        try await connect(to: url.absoluteString, configuration: configuration)
    }

    /// Connects, runs `body`, and closes whatever happens; otherwise as ``withConnection(to:configuration:_:)-(String,_,_)``.
    public static func withConnection<Result>(
        to url: URL, configuration: WebSocketConfiguration = WebSocketConfiguration(),
        _ body: (WebSocketConnection) async throws -> Result
    ) async throws -> Result {
        try await withConnection(to: url.absoluteString, configuration: configuration, body)
    }

    /// Connects, runs `body`, and closes whatever happens: it cannot leak.
    ///
    /// When `body` returns, the connection is closed with 1000; when it throws, with 1001. If the task is cancelled the
    /// link is dropped at once.
    ///
    /// - Throws: ``WebSocketError`` as ``connect(to:configuration:)-(String,_)`` does, or what `body` throws; if the task is cancelled, with
    ///   ``TransportError/Code/cancelled`` in place of how the link was lost.
    public static func withConnection<Result>(
        to url: String, configuration: WebSocketConfiguration = WebSocketConfiguration(),
        _ body: (WebSocketConnection) async throws -> Result
    ) async throws -> Result {
        let connection = try await connect(to: url, configuration: configuration)
        do {
            let result = try await withTaskCancellationHandler {
                try await body(connection)
            } onCancel: {
                connection.abort()
            }
            await connection.close()
            return result
        } catch {
            let wasCancelled = Task.isCancelled
            await connection.close(code: .goingAway)
            // A reader may see that the link was dropped before it sees that its task was cancelled.
            if wasCancelled, error is WebSocketError { throw WebSocketError(TransportError(.cancelled, "the task was cancelled")) }
            throw error
        }
    }
}
