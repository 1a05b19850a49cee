// What a socket tells of itself. Start `holdfast serve echo`, then run this.
import Holdfast
import Logging

// snippet.seen
let socket = WebSocket("ws://127.0.0.1:9001/") { options in
    options.logger = Logger(label: "feed")
    options.logger.logLevel = .debug
}
// snippet.end

try await socket.send(.text("hello"))

// snippet.statistics
let statistics = socket.statistics
print("\(statistics.connections) connections, \(statistics.traffic.bytesIn) bytes in")
if let slow = statistics.roundTrips.p99 { print("99 of 100 pongs came within \(slow)") }
// snippet.end

await socket.close()

// snippet.messages
let shown = WebSocket("ws://127.0.0.1:9001/") { options in
    options.logger = Logger(label: "feed")
    options.logger.logLevel = .debug
    options.logsPayloads = true
}
// snippet.end

try await shown.send(.text("hello"))
await shown.close()
