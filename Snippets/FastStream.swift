// A fast stream of small messages, counted without making a message of each.
import Holdfast

// snippet.batches
try await WebSocketConnection.withConnection(to: "ws://127.0.0.1:9001/ticks") { connection in
    let total = try await connection.onEventLoop { connection in
        var total = 0
        for try await var batch in connection.batches {
            batch.forEach { kind, bytes in total += bytes.byteCount }
        }
        return total
    }
    print("\(total) bytes")
}
// snippet.end
