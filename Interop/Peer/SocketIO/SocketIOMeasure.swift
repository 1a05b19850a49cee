import Foundation
import HoldfastSocketIO

/// Receives, sends or asks, and prints the processor time per event; see `Benchmarks/socketio`.
struct SocketIOMeasure {
    let url: String
    /// `receive`, `send` or `ask`.
    let kind: String
    let events: Int

    private enum API {
        static let number = Event<Int>("number")
        static let count = Event<Int>("count")
        static let drop = Event<(String, Int)>("drop")
        static let ask = Event<(String, Int)>("ask")
    }

    func run() async throws {
        let client = SocketIOClient(url)
        let numbers = client.on(API.number)
        try await client.ready(within: .seconds(20))
        let start = ProcessorTime.now
        switch kind {
        case "receive":
            try await client.emit(API.count, events)
            var received = 0
            for try await event in numbers where event.content == received {
                received += 1
                if received == events { break }
            }
        case "send":
            for value in 0..<events { try await client.emit(API.drop, "a text", value) }
            _ = try await client.request("ask", [1])
        default:
            for value in 0..<events {
                guard try await client.emit(API.ask, "a text", value, ack: String.self) == "a text" else {
                    throw Suite.Failure(description: "the acknowledgement of \(value) is wrong")
                }
            }
        }
        print("microseconds \((ProcessorTime.now - start) * 1_000_000 / Double(events))")
        await client.close()
    }
}

/// The processor time of this process.
enum ProcessorTime {
    /// In seconds.
    static var now: Double { Double(clock()) / Double(CLOCKS_PER_SEC) }
}
