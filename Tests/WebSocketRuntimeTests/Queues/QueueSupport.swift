import WebSocketCore
import WebSocketRuntime

/// Starts a task on this actor, and returns when it has run to its first suspension.
///
/// An actor runs its jobs in order, and a queue's functions stay on their caller's actor. So the order is deterministic.
@MainActor
func started<Success: Sendable>(_ body: @escaping @MainActor () async -> Success) async -> Task<Success, Never> {
    let task = Task { await body() }
    await Task.yield()
    return task
}

/// The outcome of a wait as a value.
func outcome<Success>(_ body: () async throws(TransportError) -> Success) async -> Result<Success, TransportError.Code> {
    do throws(TransportError) { return .success(try await body()) } catch { return .failure(error.code) }
}

extension TransportError.Code: Error {}

/// Counts calls from any thread.
final class Tally: Sendable {
    private let box = LockedValue(0)
    var count: Int { box.withLockedValue(\.self) }
    @discardableResult func add(_ number: Int = 1) -> Int {
        box.withLockedValue {
            $0 += number
            return $0
        }
    }
}

/// A text or binary message, alternating.
func numbered(_ number: Int) -> Message { number.isMultiple(of: 2) ? .text("\(number)") : .binary(Array("\(number)".utf8)) }

extension Message {
    /// The number that ``numbered(_:)`` got.
    var number: Int? {
        switch self {
        case .text(let text): Int(text)
        case .binary(let bytes): Int(String(decoding: bytes, as: UTF8.self))
        }
    }
}

extension Received {
    var number: Int? { if case .message(let message) = self { message.number } else { nil } }
}

extension ReceivedBatch {
    /// The numbers of all elements.
    var numbers: [Int] {
        var (rest, numbers) = (self, [Int]())
        while let received = rest.popFirst() { numbers.append(received.number ?? -1) }
        return numbers
    }
}
