// Two WebSockets on one TCP connection, where the server speaks HTTP/2: see the page about HTTP/2.
import Holdfast
import HoldfastServer

func pricesAndOrders() async throws {
    // snippet.client
    var configuration = WebSocketConfiguration()
    configuration.httpVersion = .automatic
    let prices = try await WebSocketConnection.connect(to: "wss://example.com/prices", configuration: configuration)
    let orders = try await WebSocketConnection.connect(to: "wss://example.com/orders", configuration: configuration)
    // snippet.end
    await prices.close()
    await orders.close()
}

func shop() async throws {
    // snippet.server
    var configuration = WebSocketServerConfiguration()
    configuration.tls = ServerTLSOptions(certificateChainFile: "chain.pem", privateKeyFile: "key.pem")
    configuration.httpVersion = .automatic
    configuration.http2.maximumStreams = 20
    // snippet.end
    try await WebSocketServer(configuration: configuration) { connection, _ in
        for try await message in connection.messages { try await connection.send(message) }
    }
    .run()
}

try await shop()
