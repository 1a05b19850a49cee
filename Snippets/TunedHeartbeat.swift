// A client that asks its server in its own way whether it lives, and hears of the network.
import Holdfast

let socket = WebSocket("wss://example.com/feed") { options in
    // How long a silence, and how long an answer may take.
    options.connection.timeouts.pingInterval = .seconds(15)
    options.connection.timeouts.ping = .seconds(5)
    // Or find the interval: longer while connections are stable, shorter when they are lost in silence.
    options.heartbeat = .adaptive(base: .seconds(20), minimum: .seconds(10), maximum: .seconds(120))
    // For a server that answers no pings: a message, and what its answer looks like. Your app does not see the answers.
    options.connection.pingMessage = PingMessage {
        .text(#"{"type":"ping"}"#)
    } isAnswer: { message in
        message == .text(#"{"type":"pong"}"#)
    }
    #if os(Linux)
        options.pathSource = LinuxPathSource()
    #endif
}

for await state in socket.states {
    print(state)
    guard case .connected = state else { continue }
    print("round trip: \(try await socket.ping())")
}
