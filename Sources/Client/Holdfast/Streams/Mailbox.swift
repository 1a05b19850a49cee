public import MachineCore
public import StreamCore
public import WebSocketRuntime

/// A mailbox for values of a typed stream, or of an app's own protocol, whose delivery is known only when it is made.
package typealias StreamMailbox<Item: Sendable, Output: Sendable> = Mailbox<AnyDelivery<Item, Output>, WebSocketError>

/// Where values wait for their one consumer: the shell around a `DeliveryBuffer`.
///
/// Whoever reads pushes, and never waits for it; the consumer waits for what is due, and a timer wakes it for what is not yet.
/// What every value passes is inlinable, so that it is compiled for the buffer.
@usableFromInline package final class Mailbox<Buffer: DeliveryBuffer, Failure: Error>: Sendable {
    @usableFromInline package typealias Output = Buffer.Output
    /// What a consumer who waits is woken with: whether it is to look again.
    @usableFromInline typealias Place = CheckedContinuation<Bool, Never>
    @usableFromInline struct State: Sendable {
        @usableFromInline var buffer: Buffer
        /// How many values waited when it was found full; nil again when half of them are taken.
        @usableFromInline var heldAt: Int?
        @usableFromInline var end: Result<Void, Failure>?
        /// The consumer, while it waits: a list, for to look into an empty one costs less than to look at a continuation.
        @usableFromInline var places: [(id: UInt64, place: Place)] = []
        /// How often somebody has waited.
        @usableFromInline var waits: UInt64 = 0

        @inlinable init(_ buffer: Buffer) { self.buffer = buffer }
    }
    @usableFromInline enum Step {
        case give(Output)
        case end(Result<Void, Failure>)
        case wait
    }

    @usableFromInline let state: LockedValue<State>
    @usableFromInline let time: LinkTime
    @usableFromInline let timer: DeadlineTimer
    @usableFromInline let isTimed: Bool

    /// - Parameters:
    ///   - buffer: What keeps the values.
    ///   - time: What time it is; not asked by a buffer that is not timed.
    @inlinable package init(_ buffer: Buffer, time: LinkTime, isTimed: Bool = false) {
        state = LockedValue(State(buffer))
        (self.time, timer, self.isTimed) = (time, DeadlineTimer(time), isTimed)
    }

    /// How many values wait.
    @inlinable package var pending: Int { state.withLockedValue { $0.buffer.pending } }
    /// Nothing should be read before the consumer has taken some.
    @inlinable package var isHeld: Bool { state.withLockedValue { $0.heldAt != nil } }
    /// How it ended, whatever still waits; nil while more may come.
    @inlinable package var end: Result<Void, Failure>? { state.withLockedValue(\.end) }

    @inlinable var now: Moment { isTimed ? time.now() : .start }

    /// Adds a value, unless it has ended; true if nothing more should be read before the consumer has taken some.
    @inlinable package func push(_ item: Buffer.Value) -> Bool {
        let now = now
        let (place, isHeld) = state.withLockedValue { state -> (Place?, Bool) in
            guard state.end == nil else { return (nil, false) }
            state.buffer.push(item, at: now)
            if state.buffer.isFull, state.heldAt == nil { state.heldAt = state.buffer.pending }
            return (placeToWake(&state, at: now), state.heldAt != nil)
        }
        place?.resume(returning: true)
        return isHeld
    }

    /// No more comes: the consumer gets what waits, and then this.
    @inlinable package func finish(_ end: Result<Void, Failure>) {
        let place = state.withLockedValue { state in
            state.end = state.end ?? end
            state.buffer.finish()
            return state.places.popLast()?.place
        }
        place?.resume(returning: true)
    }

    /// Waits for what is due next; nil after an end in peace, or when the task is cancelled.
    ///
    /// - Parameter relieved: Called when reading may go on that was held up.
    @inlinable package func next(relieved: () -> Void = {}) async throws(Failure) -> Output? {
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
    @inlinable func called() async -> Bool {
        let id = state.withLockedValue { state in
            state.waits += 1
            return state.waits
        }
        return await withTaskCancellationHandler {
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
                    let displaced = state.places.popLast()
                    state.places.append((id, place))
                    return (displaced?.place, false)
                }
                woken?.resume(returning: answer)
            }
        } onCancel: {
            // Another one may have taken its turn.
            state.withLockedValue { $0.places.last?.id == id ? $0.places.popLast() : nil }?.place.resume(returning: false)
        }
    }

    /// The consumer, if what it waits for has come, or is to come sooner than the timer rings.
    @inlinable func placeToWake(_ state: inout State, at now: Moment) -> Place? {
        guard !state.places.isEmpty, let deadline = state.buffer.deadline else { return nil }
        if deadline > now, !timer.ringsAfter(deadline) { return nil }
        return state.places.popLast()?.place
    }

    @inlinable func ring() { state.withLockedValue { $0.places.popLast() }?.place.resume(returning: true) }

    /// One whose buffer is known only now.
    convenience init<Item, Given>(_ buffer: any DeliveryBuffer<Item, Given>, time: LinkTime, isTimed: Bool)
    where Buffer == AnyDelivery<Item, Given>, Failure == WebSocketError {
        self.init(AnyDelivery(buffer), time: time, isTimed: isTimed)
    }

    /// One for values of the app's own, as it wants them; those that came as messages are for typed streams.
    package convenience init<Item>(_ delivery: StreamDelivery<Item>, time: LinkTime)
    where Buffer == AnyDelivery<Item, Item>, Failure == WebSocketError {
        let buffer = delivery.buffer() ?? EveryValue(capacity: 64)
        self.init(buffer.paced(by: delivery.paces), time: time, isTimed: !delivery.paces.isEmpty)
    }
}

extension Mailbox: CountedDelivery {
    package var counts: DeliveryCounts { state.withLockedValue { $0.buffer.counts } }
}

/// Counts what became of values.
protocol CountedDelivery: AnyObject, Sendable {
    var counts: DeliveryCounts { get }
}

/// What became of the values of several consumers: of one stream, or of all of a socket.
final class DeliveryLedger: Sendable {
    private struct State {
        var live: [ObjectIdentifier: any CountedDelivery] = [:]
        var ended = DeliveryCounts()
    }
    /// Counts the same, and more.
    private let parent: DeliveryLedger?
    private let state = LockedValue(State())

    init(within parent: DeliveryLedger? = nil) { self.parent = parent }

    /// One more consumer counts here.
    func join(_ consumer: any CountedDelivery) {
        state.withLockedValue { $0.live[ObjectIdentifier(consumer)] = consumer }
        parent?.join(consumer)
    }

    /// A consumer is gone; what it has counted stays.
    func leave(_ consumer: any CountedDelivery) {
        state.withLockedValue { state in
            guard state.live.removeValue(forKey: ObjectIdentifier(consumer)) != nil else { return }
            state.ended = state.ended + consumer.counts
        }
        parent?.leave(consumer)
    }

    var counts: DeliveryCounts { state.withLockedValue { state in state.live.values.reduce(state.ended) { $0 + $1.counts } } }
}

/// Counts the values of a consumer that loses none.
final class DeliveryTally: CountedDelivery {
    private let delivered = LockedValue(0)

    /// What waits is not decoded yet, so it was not received as a value.
    var counts: DeliveryCounts {
        var counts = DeliveryCounts()
        counts.delivered = delivered.withLockedValue(\.self)
        counts.received = counts.delivered
        return counts
    }

    func add() { delivered.withLockedValue { $0 += 1 } }
}
