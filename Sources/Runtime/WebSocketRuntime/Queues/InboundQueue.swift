import DequeModule
import WebSocketCore

/// The bounded queue of received messages, filled in batches, and emptied in batches or one by one.
///
/// The transport appends from its event loop; any number of tasks may take. Above `capacity` the transport stops reading, and `onRoom`
/// tells it when to continue.
package final class InboundQueue: Sendable {
    private struct State {
        var batches: Deque<ReceivedBatch> = []
        var cost = 0
        var isOverfull = false
        /// Whether `onIdle` must be called when everything was taken and a task waits for more.
        var isIdleAwaited = false
        var end: Result<Void, TransportError>?
        var waiters: Deque<Waiter> = []
        var lastWaiter: UInt64 = 0
        /// The parking place of the last waiter, for reuse.
        var spare: Parking<Taken>?

        mutating func addWaiter(takesAll: Bool) -> Waiter {
            lastWaiter += 1
            let waiter = Waiter(id: lastWaiter, takesAll: takesAll, place: spare ?? Parking())
            spare = nil
            waiters.append(waiter)
            return waiter
        }

        mutating func remove(all: Bool) -> ReceivedBatch {
            guard !all else {
                let batch = batches.removeFirst()
                cost -= batch.cost
                return batch
            }
            let element = batches[0].popFirst()
            if batches[0].isEmpty { batches.removeFirst() }
            let batch = ReceivedBatch(CollectionOfOne(element).compactMap(\.self))
            cost -= batch.cost
            return batch
        }
    }
    /// The result of a take: at least one element, or none at a clean end.
    private typealias Taken = Result<ReceivedBatch, TransportError>
    private struct Waiter: Sendable {
        let id: UInt64
        let takesAll: Bool
        /// Called by whoever removes the waiter from the state; a waiter is removed only once.
        let place: Parking<Taken>
    }

    private let state = LockedValue(State())
    private let capacity: Int
    private let onRoom: @Sendable () -> Void
    private let onIdle: @Sendable () -> Void

    /// - Parameters:
    ///
    ///   - capacity: The number of waiting bytes above which the transport should stop reading.
    ///   - onRoom: Called once after the queue was overfull and has drained to half its capacity.
    ///   - onIdle: Called once after ``awaitIdle()`` returned false, when the queue has become idle.
    package init(
        capacity: Int, onRoom: @escaping @Sendable () -> Void, onIdle: @escaping @Sendable () -> Void = {}
    ) {
        (self.capacity, self.onRoom, self.onIdle) = (capacity, onRoom, onIdle)
    }

    /// Whether the app has taken everything and waits for more; otherwise `onIdle` will be called.
    package func awaitIdle() -> Bool {
        state.withLockedValue { state in
            state.isIdleAwaited = state.waiters.isEmpty
            return !state.isIdleAwaited
        }
    }

    /// Appends a batch and empties it.
    ///
    /// Returns false if the transport should stop reading.
    package func append(_ batch: inout ReceivedBatch) -> Bool {
        var rest = ReceivedBatch()
        swap(&rest, &batch)
        return add(rest, inFront: false)
    }

    /// Puts the rest of a batch back to the front of the queue, when its taker has stopped.
    package func putBack(_ batch: ReceivedBatch) { _ = add(batch, inFront: true) }

    private func add(_ batch: consuming ReceivedBatch, inFront: Bool) -> Bool {
        var rest = batch
        var only: Waiter?
        var others: [(Waiter, Received)] = []
        let hasRoom = state.withLockedValue { state in
            if state.end != nil, !inFront { return true }
            // An empty batch would look like the end.
            if rest.isEmpty { return !state.isOverfull }
            if state.waiters.count == 1, state.waiters[0].takesAll {
                only = state.waiters.removeFirst()
                return true
            }
            // Several waiters share the elements.
            while let waiter = state.waiters.first, let element = rest.popFirst() {
                state.waiters.removeFirst()
                others.append((waiter, element))
            }
            guard !rest.isEmpty else { return !state.isOverfull }
            rest.compact()
            state.cost += rest.cost
            if inFront { state.batches.prepend(rest) } else { state.batches.append(rest) }
            if state.cost > capacity { state.isOverfull = true }
            return !state.isOverfull
        }
        if let only {
            only.place.call(.success(rest))
            return hasRoom
        }
        for (waiter, element) in others { waiter.place.call(.success(ReceivedBatch(CollectionOfOne(element)))) }
        return hasRoom
    }

    /// Ends the queue: waiting elements can still be taken, then `end` follows.
    ///
    /// Only the first call counts.
    package func finish(_ end: Result<Void, TransportError>) {
        let waiters = state.withLockedValue { state in
            guard state.end == nil else { return Deque<Waiter>() }
            state.end = end
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.place.call(end.map { ReceivedBatch() }) }
    }

    /// Waits for the next element; returns nil after a clean end.
    ///
    /// Cancellation loses no element.
    package func next() async throws(TransportError) -> Received? {
        var batch = try await take(all: false).get()
        return batch.popFirst()
    }

    /// Waits for a batch with at least one element; returns an empty one after a clean end.
    ///
    /// Elements of a taken batch no longer count against the capacity. Cancellation loses no element.
    package func nextBatch() async throws(TransportError) -> ReceivedBatch {
        switch await take(all: true) {
        case .success(let batch): return batch
        case .failure(let error): throw error
        }
    }

    private func take(all: Bool) async -> Taken {
        let (ready, waiter) = takeOrWait(all)
        if let ready { return ready }
        guard let waiter else { return .success(ReceivedBatch()) }
        await park(waiter)
        let taken = waiter.place.take()
        state.withLockedValue { $0.spare = waiter.place }
        return taken
    }

    private func park(_ waiter: Waiter, isolation actor: isolated (any Actor)? = #isolation) async {
        await withTaskCancellationHandler {
            _ = actor  // A task that waits on an actor resumes there directly.
            await waiter.place.park()
        } onCancel: {
            cancel(waiter.id)
        }
    }

    /// Returns what can be taken now, or else a new waiter.
    private func takeOrWait(_ all: Bool) -> (Taken?, Waiter?) {
        let (taken, waiter, news) = state.withLockedValue { state -> (Taken?, Waiter?, (@Sendable () -> Void)?) in
            if !state.batches.isEmpty {
                let taken = state.remove(all: all)
                guard state.isOverfull, state.cost <= capacity / 2 else { return (.success(taken), nil, nil) }
                state.isOverfull = false
                return (.success(taken), nil, onRoom)
            }
            if let end = state.end { return (end.map { ReceivedBatch() }, nil, nil) }
            if Task.isCancelled { return (.failure(.cancelledReceive), nil, nil) }
            let waiter = state.addWaiter(takesAll: all)
            guard state.isIdleAwaited else { return (nil, waiter, nil) }
            state.isIdleAwaited = false
            return (nil, waiter, onIdle)
        }
        news?()
        return (taken, waiter)
    }

    private func cancel(_ id: UInt64) {
        let waiter = state.withLockedValue { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0).place }
        }
        waiter?.call(.failure(.cancelledReceive))
    }
}

extension Received {
    /// The size in bytes, plus the overhead of a small message.
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
