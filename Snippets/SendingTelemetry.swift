// Measurements in batches, and a cursor at most twenty times a second. Needs a server that speaks this way.
import Holdfast

struct Reading: Codable, Sendable { let sensor: String, value: Double }
struct Cursor: Codable, Sendable { let id: Int, x: Double, y: Double }
struct Trace: Codable, Sendable { let times: IntegerSeries, levels: NumberSeries }

let socket = WebSocket("ws://127.0.0.1:9001/")

// snippet.batches
let readings = socket.telemetry(of: Reading.self) { telemetry in
    telemetry.batch = BatchPolicy(count: 200, bytes: 16 << 10, age: .seconds(1))
    telemetry.adapts = AdaptiveRatePolicy()
}
readings.record(Reading(sensor: "hull", value: 12.5))
// snippet.end

// snippet.counts
let counts = readings.counts
print("\(counts.sent) of \(counts.recorded) sent, \(counts.sampled) left out, \(counts.dropped) dropped")
// snippet.end

// snippet.paced
let cursors = socket.sender(of: Cursor.self, throttle: .milliseconds(50), by: \.id)
let search = socket.sender(of: String.self, debounce: .milliseconds(300), longestWait: .seconds(2))
cursors.send(Cursor(id: 1, x: 10, y: 20))
search.send("sail")
// snippet.end

// snippet.series
let trace = Trace(
    times: IntegerSeries([1_700_000_000_000, 1_700_000_000_100, 1_700_000_000_200], differences: .second),
    levels: NumberSeries([189.5, 189.51, 189.49]))
try await socket.send(value: trace)
// snippet.end

// snippet.flush
await readings.flush(within: .seconds(2))
await socket.close()
// snippet.end
