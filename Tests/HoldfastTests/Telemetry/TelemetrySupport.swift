import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

extension MemoryTransport {
    /// Returns the values of the next message; nil after the end.
    func batch() async throws -> [Int]? {
        guard case .text(let text)? = try await message() else { return nil }
        return try JSONCodec().decode([Int].self, from: .text(text))
    }

    /// Reads batches until this number of values has arrived.
    func values(_ count: Int) async throws -> [Int] {
        var values: [Int] = []
        while values.count < count, let batch = try await batch() { values += batch }
        return values
    }
}

extension TelemetryCounts {
    /// Whether every recorded value is counted in exactly one place.
    var isWhole: Bool { recorded == waiting + leaving + sent + uncertain + sampled + dropped + unencodable }
}

extension WebSocket {
    /// Telemetry of numbers whose batches have practically no maximum age.
    func numbers(count: Int = 1000, _ configure: (inout TelemetryOptions) -> Void = { _ in }) -> Telemetry<Int> {
        telemetry(of: Int.self) { telemetry in
            telemetry.batch = BatchPolicy(count: count, age: .seconds(3600))
            configure(&telemetry)
        }
    }
}

/// Waits until a condition holds that another thread will make true; the limit only bounds a failure.
func telemetryEventually(_ isTrue: () async -> Bool) async -> Bool { await Sight.eventually(isTrue) }

/// Collects notes.
final class TelemetryNotes<Note: Sendable>: Sendable {
    private let notes = LockedValue<[Note]>([])
    var all: [Note] { notes.withLockedValue(\.self) }

    func add(_ note: Note) { notes.withLockedValue { $0.append(note) } }
}

/// A weak reference to an object.
struct WeakReference { weak var object: AnyObject? }
