// A server that looks at a request before it accepts it.
import Holdfast
import HoldfastServer

// snippet.listen
var configuration = WebSocketServerConfiguration()
configuration.port = 9001
configuration.maximumConnections = 1000
configuration.slowConsumers = .disconnect(after: .seconds(5))
// snippet.end

// snippet.serve
let server = WebSocketServer(configuration: configuration) { request in
    guard request.headers["Authorization"] == "Bearer sesame" else {
        return .refuse(HTTPResponse(status: 401, headers: ["WWW-Authenticate": "Bearer"]))
    }
    return .accept(subprotocol: request.subprotocols.first { $0 == "chat.v1" })
} handler: { connection, request in
    for try await message in connection.messages {
        try await connection.send(message)
    }
}
try await server.run { running in print("listening on \(running.url())") }
// snippet.end
