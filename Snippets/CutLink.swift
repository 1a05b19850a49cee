// How an app comes back, tested over a link that is cut.
import Holdfast
import HoldfastServer
import HoldfastTesting

// snippet.test
let server = WebSocketServer { connection, _ in
    for try await message in connection.messages { try await connection.send(message) }
}
try await server.withRunning { running in
    let link = try await FaultyLink.start(to: running.port)
    let socket = WebSocket("ws://127.0.0.1:\(link.port)/")
    for await event in socket.events {
        print(event)
        guard case .opened = event else { continue }
        if link.accepted == 1 { link.cut() } else { await socket.close() }
    }
}
// snippet.end
