import Holdfast

/// What `connect` talks through: one connection, or one that comes back.
enum Link: Sendable {
    case single(WebSocketConnection)
    case surviving(WebSocket, LatestConnection)

    /// Connects; a link that survives is there at once and connects by itself.
    static func open(
        _ url: WebSocketURL, _ configuration: WebSocketConfiguration, isReconnecting: Bool, console: Console
    ) async throws(WebSocketError) -> Link {
        if isReconnecting { return .surviving(WebSocket(url.string) { $0.connection = configuration }, LatestConnection()) }
        let connection = try await WebSocketConnection.connect(to: url.string, configuration: configuration)
        await console.note(connection, to: url)
        return .single(connection)
    }

    func send(_ message: Message) async throws(WebSocketError) {
        switch self {
        case .single(let connection): try await connection.send(message)
        case .surviving(let socket, _): try await socket.send(message)
        }
    }

    /// The round trip of a ping; nil while there is no connection.
    func ping() async throws(WebSocketError) -> Duration? {
        switch self {
        case .single(let connection): try await connection.ping()
        case .surviving(_, let latest): try await latest.connection?.ping()
        }
    }

    func close(code: CloseCode = .normal) async {
        switch self {
        case .single(let connection): await connection.close(code: code)
        case .surviving(let socket, _): await socket.close(code: code)
        }
    }
}

/// The connection that a surviving link has now, or had last.
actor LatestConnection {
    private(set) var connection: WebSocketConnection?

    func replace(with connection: WebSocketConnection?) { self.connection = connection }
}
