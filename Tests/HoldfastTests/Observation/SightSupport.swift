import Metrics
import Holdfast
import HoldfastTesting
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit

/// Everything that can see a socket, in memory.
struct Sight: Sendable {
    let metrics = TestMetrics()
    let tracer = InMemoryTracer()
    let lines = InMemoryLogHandler()

    /// Lets a socket be seen, every line of its log included.
    func watch(_ options: inout WebSocketOptions, from level: Logger.Level = .trace) {
        options.metrics = metrics
        options.tracer = tracer
        options.logger = Logger(label: "test") { [lines] _ in lines }
        options.logger.logLevel = level
    }

    /// A stage on which everything is seen.
    func stage(from level: Logger.Level = .debug, _ configure: (inout WebSocketOptions) -> Void = { _ in }) -> Stage {
        Stage { options in
            watch(&options, from: level)
            configure(&options)
        }
    }

    /// What was logged, with its level.
    var log: [String] { lines.entries.map { "\($0.level): \($0.message)" } }

    /// The lines with this message.
    func entries(_ message: Logger.Message) -> [InMemoryLogHandler.Entry] { lines.entries.filter { $0.message == message } }

    func count(_ counter: String, _ dimensions: [(String, String)] = []) -> Int64 {
        metrics.counterTotal(label: "holdfast_client_" + counter, dimensions: dimensions)
    }

    func meter(_ name: String, _ dimensions: [(String, String)] = []) -> Double? {
        metrics.meters(label: "holdfast_client_" + name, dimensions: dimensions).first?.lastValue
    }

    /// How many sockets are in each state, without the states in which there are none.
    var sockets: [String: Double] {
        let states = ["disconnected", "connecting", "connected", "waiting", "held", "closing", "closed"]
        return Dictionary(uniqueKeysWithValues: states.map { ($0, meter("sockets", [("state", $0)]) ?? 0) }).filter { $0.value != 0 }
    }

    /// Waits until something is so that is about to be, on another thread; the limit only bounds a failure.
    static func eventually(_ isSo: () async -> Bool) async -> Bool {
        let end = ContinuousClock.now + .seconds(40)
        while ContinuousClock.now < end {
            if await isSo() { return true }
            await Task.yield()
        }
        return await isSo()
    }
}
