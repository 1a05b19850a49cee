import WebSocketCore
import DequeModule
import NIOConcurrencyHelpers

/// What was received and not yet taken: bounded, filled in batches, taken one by one.
///
/// The transport appends from its event loop; any number of tasks take. Above `capacity` the
/// transport stops reading, and `onRoom` tells it when to go on.
package final class InboundQueue: Sendable {
    private struct State {
        var elements: Deque<Received> = []
        var cost = 0
        var isOverfull = false
        /// Somebody wants to know when everything was taken and more is wanted.
        var isIdleAwaited = false
        var end: Result<Void, TransportError>?
        var waiters: Deque<(id: UInt64, continuation: Waiter)> = []
        var lastWaiter: UInt64 = 0
    }
    private typealias Waiter = CheckedContinuation<Result<Received?, TransportError>, Never>

    private let state = NIOLockedValueBox(State())
    private let capacity: Int
    private let onRoom: @Sendable () -> Void
    private let onIdle: @Sendable () -> Void

    /// - Parameters:
    ///   - capacity: Bytes that may wait before the transport should stop reading.
    ///   - onRoom: Called once after the queue was overfull and has drained to half its capacity.
    ///   - onIdle: Called once after ``awaitIdle()`` said false, when the queue has become idle.
    package init(
        capacity: Int, onRoom: @escaping @Sendable () -> Void, onIdle: @escaping @Sendable () -> Void = {}
    ) {
        (self.capacity, self.onRoom, self.onIdle) = (capacity, onRoom, onIdle)
    }

    /// Whether the app has dealt with everything: all was taken, and somebody waits for more.
    package func awaitIdle() -> Bool {
        state.withLockedValue { state in
            state.isIdleAwaited = state.waiters.isEmpty
            return !state.isIdleAwaited
        }
    }

    /// Appends a batch and empties it.
    ///
    /// Returns false if the transport should stop reading.
    package func append(_ batch: inout [Received]) -> Bool {
        var woken: [(Waiter, Received)] = []
        let hasRoom = state.withLockedValue { state in
            guard state.end == nil else { return true }
            for element in batch {
                if let waiter = state.waiters.popFirst() {
                    woken.append((waiter.continuation, element))
                } else {
                    state.elements.append(element)
                    state.cost += element.cost
                }
            }
            if state.cost > capacity { state.isOverfull = true }
            return !state.isOverfull
        }
        batch.removeAll(keepingCapacity: true)
        for (waiter, element) in woken { waiter.resume(returning: .success(element)) }
        return hasRoom
    }

    /// Ends the queue: what it holds can still be taken, then comes `end`.
    ///
    /// Only the first end counts.
    package func finish(_ end: Result<Void, TransportError>) {
        let waiters = state.withLockedValue { state in
            guard state.end == nil else { return Deque<(id: UInt64, continuation: Waiter)>() }
            state.end = end
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: end.map { nil }) }
    }

    /// Waits for the next element; nil after a clean end.
    ///
    /// Cancellation loses nothing.
    package func next() async throws(TransportError) -> Received? {
        if let ready = take() { return try ready.get() }
        let id = state.withLockedValue { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let ready = take { state in
                    if Task.isCancelled { return .failure(.cancelledReceive) }
                    state.waiters.append((id, waiter))
                    return nil
                }
                if let ready { waiter.resume(returning: ready) }
            }
        } onCancel: {
            cancel(id)
        }
        return try result.get()
    }

    private func take(otherwise: (inout State) -> Result<Received?, TransportError>? = { _ in nil }) -> Result<Received?, TransportError>? {
        let (result, news) = state.withLockedValue { state -> (Result<Received?, TransportError>?, (@Sendable () -> Void)?) in
            if let element = state.elements.popFirst() {
                state.cost -= element.cost
                guard state.isOverfull, state.cost <= capacity / 2 else { return (.success(element), nil) }
                state.isOverfull = false
                return (.success(element), onRoom)
            }
            if let end = state.end { return (end.map { nil }, nil) }
            let result = otherwise(&state)
            guard state.isIdleAwaited, !state.waiters.isEmpty else { return (result, nil) }
            state.isIdleAwaited = false
            return (result, onIdle)
        }
        news?()
        return result
    }

    private func cancel(_ id: UInt64) {
        let waiter = state.withLockedValue { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0).continuation }
        }
        waiter?.resume(returning: .failure(.cancelledReceive))
    }
}

extension Received {
    /// Bytes held, with what a small message costs beside its payload.
    package var cost: Int {
        switch self {
        case .message(let message): message.byteCount + 64
        case .chunk(let chunk): chunk.bytes.count + 64
        }
    }
}

extension TransportError {
    static let cancelledReceive = TransportError(.cancelled, "the wait for a message was cancelled")
}
