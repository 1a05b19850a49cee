import Holdfast
import Testing

extension WebSocketConfiguration {
    /// The default configuration with these changes.
    static func with(_ configure: (inout WebSocketConfiguration) -> Void) -> WebSocketConfiguration {
        var configuration = WebSocketConfiguration()
        // A busy machine needs longer timeouts than the ten seconds of an app.
        (configuration.timeouts.connect, configuration.timeouts.handshake) = (.seconds(60), .seconds(60))
        configure(&configuration)
        return configuration
    }
}

extension WebSocketConnection {
    /// Reads messages until the connection ends; returns the error, nil after a clean end.
    func end() async -> WebSocketError? {
        do throws(WebSocketError) {
            for try await _ in messages {}
            return nil
        } catch {
            return error
        }
    }

    /// Returns the next message.
    func next() async throws -> Message? {
        var iterator = messages.makeAsyncIterator()
        return try await iterator.next()
    }

    /// Reads the next message and expects it to be this one; nil expects the end.
    func expect(_ message: Message?, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let next = try await next()
        #expect(next == message, sourceLocation: sourceLocation)
    }
}
