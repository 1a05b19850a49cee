import Holdfast

extension Link {
    /// Prints what comes until the end; if the task is cancelled the other side is told 1001.
    func receive(_ console: Console, from url: WebSocketURL) async -> Outcome {
        let outcome =
            switch self {
            case .single(let connection): await Self.receive(from: connection, console)
            case .surviving(let socket, let latest): await Self.receive(from: socket, latest, console, url)
            }
        // SAFETY: awaited at once; it is a task of its own only because a cancelled one cannot wait for the other side.
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
        let record = await connection.close()  // The messages end before TCP does; this waits for the outcome.
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
