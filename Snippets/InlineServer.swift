// A server that answers in line with its I/O: the fastest way, for code that never waits.
import Holdfast
import HoldfastServer

// snippet.inline
final class Echo: InlineHandler {
    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {
        socket.send(kind, bytes)
    }
}

let server = WebSocketServer(inline: { request in Echo() })
// snippet.end
try await server.run { running in print("listening on \(running.url())") }
