import Foundation
import Holdfast
import HoldfastServer
import WebSocketRuntime

/// Our server for the runs with faults; see `Interop/README.md`.
struct SurviveServer {
    private static let slowness = Duration.milliseconds(700)

    let port: Int
    /// The newest connection of each client.
    private let newest = LockedValue<[String: WebSocketConnection]>([:])

    init(port: Int) { self.port = port }

    /// Serves until SIGTERM, or until the parent process is gone.
    func run() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        signal(SIGTERM, SIG_IGN)
        let request = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        request.setEventHandler { end.yield() }
        request.resume()
        Thread.detachNewThread {
            _ = FileHandle.standardInput.readDataToEndOfFile()
            exit(0)
        }
        var configuration = WebSocketServerConfiguration()
        configuration.port = port
        configuration.shutdownGrace = .seconds(2)
        let server = WebSocketServer(configuration: configuration) { request in
            let token = Token(request.headers["Authorization"] ?? "")
            Self.say(token.left > 0 ? "opened \(token.client) \(token.left)" : "refused \(token.client)")
            return token.left > 0 ? .accept : .refuse(status: 401, "expired\n")
        } handler: { connection, request in
            try await serve(connection, Token(request.headers["Authorization"] ?? "").client, isSlow: request.path == "/slow")
        }
        try await server.withRunning { server in
            Self.say("listening \(server.port)")
            for await _ in ends { break }
        }
        exit(0)
    }

    private func serve(_ connection: WebSocketConnection, _ client: String, isSlow: Bool) async throws {
        let older = newest.withLockedValue { $0.updateValue(connection, forKey: client) }
        defer { forget(connection, of: client) }
        async let accusation: Void = accuse(older, client)
        for try await message in connection.messages {
            if isSlow { try await Task.sleep(for: Self.slowness) }
            try await connection.send(message)
        }
        await accusation
    }

    /// Reports an older connection that still answers while its client has another.
    private func accuse(_ older: WebSocketConnection?, _ client: String) async {
        if let older, (try? await older.ping()) != nil { Self.say("double \(client)") }
    }

    private func forget(_ connection: WebSocketConnection, of client: String) {
        newest.withLockedValue { newest in
            if newest[client]?.transport === connection.transport { newest[client] = nil }
        }
    }

    /// Written at once, because the process may be killed.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}
