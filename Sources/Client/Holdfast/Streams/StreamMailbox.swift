import MachineCore
package import StreamCore
package import WebSocketRuntime

/// Where values wait for their one consumer: the shell around a `DeliveryBuffer`.
///
/// Whoever reads pushes, and never waits for it; the consumer waits for what is due, and a timer wakes it for what is not yet.
package final class StreamMailbox<Item: Sendable, Output: Sendable>: CountedDelivery {
    /// What a consumer who waits is woken with: whether it is to look again.
    private typealias Place = CheckedContinuation<Bool, Never>
    private struct State {
        var buffer: any DeliveryBuffer<Item, Output>
        /// How many values waited when it was found full; nil again when half of them are taken.
        var heldAt: Int?
        var end: Result<Void, WebSocketError>?
        var place: Place?
    }
    private enum Step {
        case give(Output)
        case end(Result<Void, WebSocketError>)
        case wait
    }

    private let state: LockedValue<State>
    private let time: LinkTime
    private let timer: DeadlineTimer
    private let isTimed: Bool

    /// - Parameters:
    ///   - buffer: What keeps the values.
    ///   - time: What time it is; nil for a buffer that does not ask.
    package init(_ buffer: any DeliveryBuffer<Item, Output>, time: LinkTime, isTimed: Bool) {
        state = LockedValue(State(buffer: buffer))
        (self.time, timer, self.isTimed) = (time, DeadlineTimer(time), isTimed)
    }

    /// One for values of the app's own, as it wants them; those that came as messages are for typed streams.
    package convenience init(_ delivery: StreamDelivery<Item>, time: LinkTime) where Output == Item {
        let buffer = delivery.buffer() ?? EveryValue(capacity: 64)
        self.init(buffer.paced(by: delivery.paces), time: time, isTimed: !delivery.paces.isEmpty)
    }

    package var counts: DeliveryCounts { state.withLockedValue { $0.buffer.counts } }
    /// How many values wait.
    package var pending: Int { state.withLockedValue { $0.buffer.pending } }
    /// Nothing should be read before the consumer has taken some.
    package var isHeld: Bool { state.withLockedValue { $0.heldAt != nil } }

    private var now: Moment { isTimed ? time.now() : .start }

    /// Adds a value; true if nothing more should be read before the consumer has taken some.
    package func push(_ item: Item) -> Bool {
        let now = now
        let (place, isHeld) = state.withLockedValue { state -> (Place?, Bool) in
            state.buffer.push(item, at: now)
            if state.buffer.isFull, state.heldAt == nil { state.heldAt = state.buffer.pending }
            return (placeToWake(&state, at: now), state.heldAt != nil)
        }
        place?.resume(returning: true)
        return isHeld
    }

    /// No more comes: the consumer gets what waits, and then this.
    package func finish(_ end: Result<Void, WebSocketError>) {
        let place = state.withLockedValue { state in
            state.end = state.end ?? end
            state.buffer.finish()
            return state.place.take()
        }
        place?.resume(returning: true)
    }

    /// Waits for what is due next; nil after an end in peace, or when the task is cancelled.
    ///
    /// - Parameter relieved: Called when reading may go on that was held up.
    package func next(relieved: () -> Void) async throws(WebSocketError) -> Output? {
        // Asked each time: a slow consumer of a fast peer never has to wait.
        while !Task.isCancelled {
            let now = now
            let (step, isRelieved) = state.withLockedValue { state -> (Step, Bool) in
                if let output = state.buffer.take(at: now) {
                    guard let heldAt = state.heldAt, state.buffer.pending <= heldAt / 2 else { return (.give(output), false) }
                    state.heldAt = nil
                    return (.give(output), true)
                }
                if let end = state.end, state.buffer.pending == 0 { return (.end(end), false) }
                return (.wait, false)
            }
            if isRelieved { relieved() }
            switch step {
            case .give(let output): return output
            case .end(let end):
                try end.get()
                return nil
            case .wait: if await !called() { return nil }
            }
        }
        return nil
    }

    /// Waits until there is a reason to look again; false if the task is cancelled.
    private func called() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { place in
                let now = now
                let (woken, answer) = state.withLockedValue { state -> (Place?, Bool) in
                    // Cancelled before there was anybody to wake.
                    if Task.isCancelled { return (place, false) }
                    if let deadline = state.buffer.deadline {
                        if deadline <= now { return (place, true) }
                        timer.set(deadline) { [weak self] in self?.ring() }
                    }
                    if state.end != nil, state.buffer.pending == 0 { return (place, true) }
                    // Two tasks share an iterator, which no one should: the one that came first gives way.
                    let displaced = state.place
                    state.place = place
                    return (displaced, false)
                }
                woken?.resume(returning: answer)
            }
        } onCancel: {
            state.withLockedValue { $0.place.take() }?.resume(returning: false)
        }
    }

    /// The consumer, if what it waits for has come, or is to come sooner than the timer rings.
    private func placeToWake(_ state: inout State, at now: Moment) -> Place? {
        guard state.place != nil, let deadline = state.buffer.deadline else { return nil }
        if deadline > now, !timer.ringsAfter(deadline) { return nil }
        return state.place.take()
    }

    private func ring() { state.withLockedValue { $0.place.take() }?.resume(returning: true) }
}
