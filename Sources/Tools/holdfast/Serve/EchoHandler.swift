import Holdfast
import HoldfastServer

/// Serves one client of the echo server.
struct EchoHandler: Sendable {
    let log: ServerLog

    /// Sends everything back until the client leaves, and logs how that went.
    func serve(_ connection: WebSocketConnection, _ request: UpgradeRequest) async throws {
        let peer = (request.remoteAddress ?? "a client").escapedOnOneLine
        let opened = "\(peer) opened \(request.path.escapedOnOneLine) over HTTP/\(request.httpVersion)"
        log.note(opened + (connection.compression == nil ? "" : ", permessage-deflate"))
        var count = 0
        do {
            for try await message in connection.messages {
                try await connection.send(message)
                count += 1
            }
            log.note("\(peer) \(connection.closeRecord?.phrase ?? "left") (\(count.counted("message")))")
        } catch {
            log.problem("\(peer): \(error) (\(count.counted("message")))")
            throw error
        }
    }
}
