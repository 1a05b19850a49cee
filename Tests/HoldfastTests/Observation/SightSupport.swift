import Metrics
import Holdfast
import HoldfastTesting
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit

/// Records the metrics, spans and log lines of sockets in memory.
struct Sight: Sendable {
    let metrics = TestMetrics()
    let tracer = InMemoryTracer()
    let lines = InMemoryLogHandler()

    /// Sets the recorder as the socket's metrics, tracer and logger; by default it records every line.
    func watch(_ options: inout WebSocketOptions, from level: Logger.Level = .trace) {
        options.metrics = metrics
        options.tracer = tracer
        options.logger = Logger(label: "test") { [lines] _ in lines }
        options.logger.logLevel = level
    }

    /// A stage whose socket is recorded.
    func stage(from level: Logger.Level = .debug, _ configure: (inout WebSocketOptions) -> Void = { _ in }) -> Stage {
        Stage { options in
            watch(&options, from: level)
            configure(&options)
        }
    }

    /// The logged messages with their levels.
    var log: [String] { lines.entries.map { "\($0.level): \($0.message)" } }

    /// The log entries with this message.
    func entries(_ message: Logger.Message) -> [InMemoryLogHandler.Entry] { lines.entries.filter { $0.message == message } }

    func count(_ counter: String, _ dimensions: [(String, String)] = []) -> Int64 {
        metrics.counterTotal(label: "holdfast_client_" + counter, dimensions: dimensions)
    }

    func meter(_ name: String, _ dimensions: [(String, String)] = []) -> Double? {
        metrics.meters(label: "holdfast_client_" + name, dimensions: dimensions).first?.lastValue
    }

    /// The number of sockets in each state, without the states that have none.
    var sockets: [String: Double] {
        let states = ["disconnected", "connecting", "connected", "waiting", "held", "closing", "closed"]
        return Dictionary(uniqueKeysWithValues: states.map { ($0, meter("sockets", [("state", $0)]) ?? 0) }).filter { $0.value != 0 }
    }

    /// Waits until a condition holds that another thread will make true; the limit only bounds a failure.
    static func eventually(_ isTrue: () async -> Bool) async -> Bool {
        let end = ContinuousClock.now + .seconds(40)
        while ContinuousClock.now < end {
            if await isTrue() { return true }
            await Task.yield()
        }
        return await isTrue()
    }
}
