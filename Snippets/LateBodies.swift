// Messages in MessagePack whose envelope is read first. Needs a server that speaks this way.
import Holdfast
import HoldfastCodecs

// snippet.envelope
struct Envelope: Codable, Sendable {
    var type: String
    var body: LazyValue
}
struct Trade: Codable, Sendable { var symbol: String, price: Double }
// snippet.end

// snippet.socket
let socket = WebSocket("ws://127.0.0.1:9001/") { $0.codec = MessagePackCodec() }
// snippet.end

// snippet.bodies
for try await envelope in socket.stream(of: Envelope.self) {
    switch envelope.type {
    case "trade": print(try envelope.body.decode(as: Trade.self))
    default: print(envelope.type, try envelope.body.value["symbol"] ?? "of no symbol")
    }
}
// snippet.end
