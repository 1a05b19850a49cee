import Holdfast
import Testing

extension WebSocketConfiguration {
    /// The defaults, with these changes.
    static func with(_ configure: (inout WebSocketConfiguration) -> Void) -> WebSocketConfiguration {
        var configuration = WebSocketConfiguration()
        // A busy machine needs more than the ten seconds of an app.
        (configuration.timeouts.connect, configuration.timeouts.handshake) = (.seconds(60), .seconds(60))
        configure(&configuration)
        return configuration
    }
}

extension WebSocketConnection {
    /// Takes messages until the connection ends; returns why, nil if in peace.
    func end() async -> WebSocketError? {
        do throws(WebSocketError) {
            for try await _ in messages {}
            return nil
        } catch {
            return error
        }
    }

    /// The next message.
    func next() async throws -> Message? {
        var iterator = messages.makeAsyncIterator()
        return try await iterator.next()
    }

    /// Takes the next message, which should be this one; nil: the end.
    func expect(_ message: Message?, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let next = try await next()
        #expect(next == message, sourceLocation: sourceLocation)
    }
}
