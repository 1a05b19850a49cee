// A client that outlives its connections. Start `holdfast serve echo`, run this, then stop and start the server.
import Holdfast

let socket = WebSocket("ws://127.0.0.1:9001/")
for await event in socket.events {
    switch event {
    case .opened:
        try await socket.send("hello")
    case .message(let message):
        print("received \(message)")
    case .reconnecting(let attempt, let delay, let cause):
        print("\(cause): attempt \(attempt) in \(delay)")
    case .dropped(let dropped):
        print("not sent: \(dropped.message)")
    case .closed(let closure):
        print("closed: \(closure)")
    default:
        break
    }
}
