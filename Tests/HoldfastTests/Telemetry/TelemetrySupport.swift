import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

extension MemoryTransport {
    /// The values of the next message; nil after the end.
    func batch() async throws -> [Int]? {
        guard case .text(let text)? = try await message() else { return nil }
        return try JSONCodec().decode([Int].self, from: .text(text))
    }

    /// Takes batches until so many values have come, and returns them.
    func values(_ count: Int) async throws -> [Int] {
        var values: [Int] = []
        while values.count < count, let batch = try await batch() { values += batch }
        return values
    }
}

extension TelemetryCounts {
    /// Every recorded value is in exactly one place.
    var isWhole: Bool { recorded == waiting + leaving + sent + uncertain + sampled + dropped + unencodable }
}

extension WebSocket {
    /// Numbers, in batches that do not get old.
    func numbers(count: Int = 1000, _ configure: (inout TelemetryOptions) -> Void = { _ in }) -> Telemetry<Int> {
        telemetry(of: Int.self) { telemetry in
            telemetry.batch = BatchPolicy(count: count, age: .seconds(3600))
            configure(&telemetry)
        }
    }
}

/// Waits until something is so that is about to be, on another thread; the limit only bounds a failure.
func telemetryEventually(_ isSo: () async -> Bool) async -> Bool { await Sight.eventually(isSo) }

/// Keeps what it is told.
final class TelemetryNotes<Note: Sendable>: Sendable {
    private let notes = LockedValue<[Note]>([])
    var all: [Note] { notes.withLockedValue(\.self) }

    func add(_ note: Note) { notes.withLockedValue { $0.append(note) } }
}

/// Holds an object without keeping it.
struct TelemetryWitness { weak var object: AnyObject? }
