import Holdfast

/// An app that connects, prints the first message or the reason for none, and closes.
@main enum Connect {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        let socket = WebSocket(arguments.first ?? "wss://localhost") {
            if arguments.contains("http2") { $0.connection.httpVersion = .http2 }
        }
        loop: for await event in socket.events {
            switch event {
            case .message(let message):
                print(message)
                break loop
            case .closed(let closure): print(closure)
            default: break
            }
        }
        await socket.close()
    }
}
