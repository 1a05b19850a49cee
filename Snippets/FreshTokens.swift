// A client whose token is fetched before every attempt and replaced before it expires, and that follows the app's life.
import Holdfast

struct Tokens {
    func fresh() async throws -> String { "a token from your back end" }
}
let tokens = Tokens()

// snippet.credentials
let socket = WebSocket("wss://example.com/feed") { options in
    options.credentials = .bearer { Credential(try await tokens.fresh(), expiresIn: .seconds(3600)) }
    options.alternatives = ["wss://backup.example.com/feed"]
    options.reconnect.losses[.refused(status: 404)] = .retry  // Deploys take the path away for a moment.
}
// snippet.end

// snippet.life
await socket.notify(.background)
await socket.notify(.foreground)
await socket.notify(.unsatisfied)
await socket.notify(.satisfied(NetworkPath(.wifi, interface: "en0")))
// snippet.end

// snippet.again
await socket.disconnect()
await socket.connect()
await socket.reconnectNow()
// snippet.end

// snippet.states
for await state in socket.states {
    switch state {
    case .connected: print("online")
    case .waiting(_, let cause): print("offline: \(cause?.description ?? "unknown")")
    default: print(state)
    }
}
// snippet.end
