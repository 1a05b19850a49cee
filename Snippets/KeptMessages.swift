// An outbox for a server of your own that answers {"ack":"…"}: what is not acknowledged is sent again, also when the app is started again.
import Foundation
import Holdfast

struct Line: Codable, Identifiable {
    var id = UUID()
    var text: String
}
struct Ack: Decodable {
    var ack: UUID
}

// snippet.outbox
let socket = WebSocket("ws://127.0.0.1:9001/")
let file = FileManager.default.temporaryDirectory.appendingPathComponent("lines.outbox")
let outbox = try await socket.outbox(of: UUID.self, in: .file(file)) { message in
    (try? JSONCodec().decode(Ack.self, from: message)).map { .acknowledged($0.ack) }
}
try await outbox.send(value: Line(text: "hello"))
for await waiting in outbox.updates {
    print("\(waiting.count) are not acknowledged yet")
    if waiting.isEmpty { break }
}
// snippet.end
await socket.close()
