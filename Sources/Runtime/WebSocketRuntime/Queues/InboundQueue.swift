import DequeModule
import WebSocketCore

/// What was received and not yet taken: bounded, filled in batches, taken in batches or one by one.
///
/// The transport appends from its event loop; any number of tasks take. Above `capacity` the
/// transport stops reading, and `onRoom` tells it when to go on.
package final class InboundQueue: Sendable {
    private struct State {
        var batches: Deque<ReceivedBatch> = []
        var cost = 0
        var isOverfull = false
        /// Somebody wants to know when everything was taken and more is wanted.
        var isIdleAwaited = false
        var end: Result<Void, TransportError>?
        var waiters: Deque<Waiter> = []
        var lastWaiter: UInt64 = 0
        /// Where the last one waited, for the next.
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
    /// What a taker gets: at least one element, or none at a clean end.
    private typealias Taken = Result<ReceivedBatch, TransportError>
    private struct Waiter: Sendable {
        let id: UInt64
        let takesAll: Bool
        /// Whoever removes a waiter from the state calls it, and nobody removes it twice.
        let place: Parking<Taken>
    }

    private let state = LockedValue(State())
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
    package func append(_ batch: inout ReceivedBatch) -> Bool {
        var rest = ReceivedBatch()
        swap(&rest, &batch)
        return add(rest, inFront: false)
    }

    /// Takes back what a batch still held when its taker left: it comes first again.
    package func putBack(_ batch: ReceivedBatch) { _ = add(batch, inFront: true) }

    private func add(_ batch: consuming ReceivedBatch, inFront: Bool) -> Bool {
        var rest = batch
        var only: Waiter?
        var others: [(Waiter, Received)] = []
        let hasRoom = state.withLockedValue { state in
            if state.end != nil, !inFront { return true }
            // Nothing is what the end looks like.
            if rest.isEmpty { return !state.isOverfull }
            if state.waiters.count == 1, state.waiters[0].takesAll {
                only = state.waiters.removeFirst()
                return true
            }
            // Several who wait share what comes.
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

    /// Ends the queue: what it holds can still be taken, then comes `end`.
    ///
    /// Only the first end counts.
    package func finish(_ end: Result<Void, TransportError>) {
        let waiters = state.withLockedValue { state in
            guard state.end == nil else { return Deque<Waiter>() }
            state.end = end
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.place.call(end.map { ReceivedBatch() }) }
    }

    /// Waits for the next element; nil after a clean end.
    ///
    /// Cancellation loses nothing.
    package func next() async throws(TransportError) -> Received? {
        var batch = try await take(all: false).get()
        return batch.popFirst()
    }

    /// Waits for a batch, at least one element; empty after a clean end.
    ///
    /// What a batch holds counts no longer. Cancellation loses nothing.
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
            _ = actor  // Whoever waits on an actor goes on there, without a detour.
            await waiter.place.park()
        } onCancel: {
            cancel(waiter.id)
        }
    }

    /// What can be taken now, or else where to wait.
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
