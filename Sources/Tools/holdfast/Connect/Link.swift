import Holdfast
import HoldfastTerminal

/// The connection of `connect`: a single one, or one that reconnects.
enum Link: Sendable {
    case single(WebSocketConnection)
    case surviving(WebSocket, LatestConnection)

    /// Connects; a reconnecting link is returned at once and connects by itself.
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

    /// Returns the round trip of a ping; nil while there is no connection.
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

    /// Prints messages until the end; if the task is cancelled, closes with 1001.
    func receive(_ console: Console, from url: WebSocketURL) async -> Outcome {
        let outcome =
            switch self {
            case .single(let connection): await Self.receive(from: connection, console)
            case .surviving(let socket, let latest): await Self.receive(from: socket, latest, console, url)
            }
        // SAFETY: awaited at once; it is a separate task only because a cancelled task cannot wait for the other side.
        if outcome == .interrupted { await Task { await close(code: .goingAway) }.value }
        return outcome
    }

    private static func receive(from connection: WebSocketConnection, _ console: Console) async -> Outcome {
        do throws(WebSocketError) {
            for try await message in connection.messages { await console.show(message, .received) }
        } catch {
            if error.code != .cancelled { await console.note(error) }
            return Outcome(error)
        }
        let record = await connection.close()  // The messages end before TCP does, so this waits for the outcome.
        let outcome = Outcome(closing: record)
        await console.note(record.phrase, outcome == .clean ? .note : .bad)
        return outcome
    }

    private static func receive(
        from socket: WebSocket, _ latest: LatestConnection, _ console: Console, _ url: WebSocketURL
    ) async -> Outcome {
        for await event in socket.events {
            switch event {
            case .opened(let opening):
                await latest.replace(with: opening.connection)
                await console.note(opening.connection, to: url)
            case .message(let message): await console.show(message, .received)
            case .reconnecting(let attempt, let delay, let cause):
                await latest.replace(with: nil)
                await console.note(cause)
                await console.note("attempt \(attempt) in \(delay.phrase)")
            case .dropped(let dropped): await console.note("not sent: \(dropped.message.byteCount) bytes")
            case .closed(let closure):
                guard let error = closure.error else {
                    await console.note("closed")
                    return .clean
                }
                await console.note(error)
                return Outcome(error)
            default: continue
            }
        }
        return .interrupted
    }
}

/// The current or last connection of a reconnecting link.
actor LatestConnection {
    private(set) var connection: WebSocketConnection?

    func replace(with connection: WebSocketConnection?) { self.connection = connection }
}
