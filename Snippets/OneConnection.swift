// One connection, from handshake to close.
import Holdfast

// snippet.configure
var configuration = WebSocketConfiguration()
configuration.headers = ["Authorization": "Bearer sesame"]
configuration.subprotocols = ["chat.v2", "chat.v1"]
configuration.limits.message = 64 * 1024
configuration.timeouts.connect = .seconds(3)
// snippet.end

// snippet.scope
do {
    try await WebSocketConnection.withConnection(to: "wss://example.com/chat", configuration: configuration) { connection in
        print("speaking \(connection.subprotocol ?? "no subprotocol"), \(try await connection.ping()) away")
        try await connection.send(.text("hello"))
        for try await message in connection.messages {
            print("received \(message)")
        }
    }
} catch let error as WebSocketError where error.httpStatus == 401 {
    print("the token is not welcome: \(String(decoding: error.body, as: UTF8.self))")
} catch {
    print(error)
}
// snippet.end
