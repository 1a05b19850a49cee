import Holdfast

/// The connections of a benchmark: opened before it, closed after it.
enum Lanes {
    /// Handshakes at the same time.
    private static let handshakes = 32

    /// Opens so many connections, or none: the first failure drops all.
    static func open(
        _ count: Int, to url: WebSocketURL, _ configuration: WebSocketConfiguration
    ) async throws(WebSocketError) -> [WebSocketConnection] {
        typealias Attempt = Result<WebSocketConnection, WebSocketError>
        let (connections, failure) = await withTaskGroup(of: Attempt.self) { group in
            let attempt = { @Sendable () async -> Attempt in
                do throws(WebSocketError) {
                    return .success(try await WebSocketConnection.connect(to: url.string, configuration: configuration))
                } catch {
                    return .failure(error)
                }
            }
            var connections: [WebSocketConnection] = []
            var failure: WebSocketError?
            for _ in 0..<min(count, handshakes) { group.addTask { await attempt() } }
            var begun = min(count, handshakes)
            while let result = await group.next() {
                switch result {
                case .success(let connection): connections.append(connection)
                case .failure(let error):
                    // What fails after the first is mostly its echo, or cancelled.
                    failure = failure ?? error
                    group.cancelAll()
                }
                if failure == nil, begun < count {
                    begun += 1
                    group.addTask { await attempt() }
                }
            }
            return (connections, failure)
        }
        guard let failure else { return connections }
        for connection in connections { connection.abort() }
        throw failure
    }

    static func close(_ connections: [WebSocketConnection]) async {
        await withDiscardingTaskGroup { group in
            for connection in connections { group.addTask { await connection.close() } }
        }
    }
}
