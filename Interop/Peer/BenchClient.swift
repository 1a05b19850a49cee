import Foundation
import Holdfast

/// Takes messages from the benchmark's sink, or sends them to it, and prints what it measured; see `Benchmarks/README.md`.
struct BenchClient {
    /// Which way the messages go.
    enum Mode: String {
        case receive, send
    }

    let mode: Mode
    let url: String
    let size: Int
    let seconds: Double

    @concurrent
    func run() async throws {
        var configuration = WebSocketConfiguration()
        configuration.compression = nil
        try await WebSocketConnection.withConnection(to: "\(url)/\(mode.rawValue)", configuration: configuration) { connection in
            var meter = BenchMeter(seconds: seconds)
            switch mode {
            case .receive: try await connection.send(.text("\(size) \(seconds)"))
            case .send: try await send(over: connection, &meter)
            }
            for try await message in connection.messages {
                switch message {
                case .binary: meter.count()
                case .text(let text): return meter.finish(text)
                }
            }
        }
    }

    private func send(over connection: WebSocketConnection, _ meter: inout BenchMeter) async throws {
        let payload = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        while meter.elapsed < .seconds(seconds) {
            for _ in 0..<64 {
                try await connection.send(.binary(payload))
                meter.count()
            }
        }
        try await connection.send(.text("end"))
    }
}
