public import MachineCore
public import StreamCore
public import WebSocketRuntime

/// A mailbox for values of a typed stream, or of an app's own protocol, whose delivery is chosen at run time.
@usableFromInline package typealias StreamMailbox<Item: Sendable, Output: Sendable> = Mailbox<AnyDelivery<Item, Output>, WebSocketError>

/// What a consumer finds in a ``Mailbox``.
@usableFromInline package enum MailboxStep<Output, Failure: Error> {
    case give(Output)
    case end(Result<Void, Failure>)
    case wait
}

/// The queue of values for one consumer; runs a `DeliveryBuffer`.
///
/// The reader pushes values and never waits for the consumer. The consumer waits for the next due value, and a timer wakes it for a value
/// that is due later. The code on the path of every value is inlinable, so that it is specialized for the buffer.
@usableFromInline package final class Mailbox<Buffer: DeliveryBuffer, Failure: Error>: Sendable {
    @usableFromInline package typealias Output = Buffer.Output
    /// The continuation of a waiting consumer; it is resumed with whether the consumer should look again.
    @usableFromInline typealias Place = CheckedContinuation<Bool, Never>
    @usableFromInline struct State: Sendable {
        @usableFromInline var buffer: Buffer
        /// The number of waiting values when the buffer was found full; nil again when half of them are taken.
        @usableFromInline var heldAt: Int?
        @usableFromInline var end: Result<Void, Failure>?
        /// The waiting consumer, if any; an array, because checking whether it is empty costs less than checking an optional continuation.
        @usableFromInline var places: [(id: UInt64, place: Place)] = []
        /// The number of waits so far.
        @usableFromInline var waits: UInt64 = 0
        /// Whether the reader has promised a ``Mailbox/call()``.
        @usableFromInline var isCallDue = false

        @inlinable init(_ buffer: Buffer) { self.buffer = buffer }
    }
    @usableFromInline package typealias Step = MailboxStep<Output, Failure>

    @usableFromInline let state: LockedValue<State>
    @usableFromInline let time: LinkTime
    @usableFromInline let timer: DeadlineTimer
    @usableFromInline let isTimed: Bool

    /// - Parameters:
    ///   - buffer: Stores the values.
    ///   - time: The clock; not used for a buffer that is not timed.
    @inlinable package init(_ buffer: Buffer, time: LinkTime, isTimed: Bool = false) {
        state = LockedValue(State(buffer))
        (self.time, timer, self.isTimed) = (time, DeadlineTimer(time), isTimed)
    }

    /// The number of waiting values.
    @inlinable package var pending: Int { state.withLockedValue { $0.buffer.pending } }
    /// Whether reading should pause until the consumer has taken some values.
    @inlinable package var isHeld: Bool { state.withLockedValue { $0.heldAt != nil } }
    /// How it ended, even if values still wait; nil while more may come.
    @inlinable package var end: Result<Void, Failure>? { state.withLockedValue({ $0.end }) }

    @inlinable var now: Moment { isTimed ? time.now() : .start }

    /// Adds a value, unless it has ended; returns true if reading should pause until the consumer has taken some.
    @inlinable package func push(_ item: Buffer.Value) -> Bool {
        let now = now
        let (place, isHeld) = state.withLockedValue { state -> (Place?, Bool) in
            guard state.end == nil else { return (nil, false) }
            let isHeld = add(item, to: &state, at: now)
            return (placeToWake(&state, at: now), isHeld)
        }
        place?.resume(returning: true)
        return isHeld
    }

    /// Adds a value as ``push(_:)`` does, but does not wake the consumer.
    ///
    /// Waking a task costs more than all else that happens to a value. So a reader wakes the consumer once for all values that arrived
    /// together.
    ///
    /// - Returns: Whether reading should pause, and whether the reader must soon ``call()``; it must once, however many values follow.
    @inlinable package func put(_ item: Buffer.Value) -> (isHeld: Bool, mustCall: Bool) {
        let now = now
        return state.withLockedValue { state in
            guard state.end == nil else { return (false, false) }
            let isHeld = add(item, to: &state, at: now)
            guard !state.isCallDue, isDue(state, at: now) else { return (isHeld, false) }
            state.isCallDue = true
            return (isHeld, true)
        }
    }

    /// Wakes the consumer if it waits and a value is due.
    @inlinable package func call() {
        let now = now
        let place = state.withLockedValue { state in
            state.isCallDue = false
            return placeToWake(&state, at: now)
        }
        place?.resume(returning: true)
    }

    /// Adds a value; returns whether reading should pause.
    @inlinable func add(_ item: Buffer.Value, to state: inout State, at now: Moment) -> Bool {
        state.buffer.push(item, at: now)
        if state.buffer.isFull, state.heldAt == nil { state.heldAt = state.buffer.pending }
        return state.heldAt != nil
    }

    /// Ends the mailbox: the consumer gets what waits, and then this end.
    @inlinable package func finish(_ end: Result<Void, Failure>) {
        let place = state.withLockedValue { state in
            state.end = state.end ?? end
            state.buffer.finish()
            return state.places.popLast()?.place
        }
        place?.resume(returning: true)
    }

    /// Waits for the next due value; nil after a normal end, or when the task is cancelled.
    ///
    /// - Parameter relieved: Called when paused reading may resume.
    @inlinable package func next(
        isolation actor: isolated (any Actor)? = #isolation, relieved: () -> Void = {}
    ) async throws(Failure) -> Output? {
        // Checked at each call: a slow consumer of a fast peer never waits.
        while !Task.isCancelled {
            switch take(relieved: relieved) {
            case .give(let output): return output
            case .end(let end):
                try end.get()
                return nil
            case .wait: if await !called() { return nil }
            }
        }
        return nil
    }

    /// Takes the next due value, or says what the consumer has to do instead.
    ///
    /// - Parameter relieved: Called when paused reading may resume.
    @inlinable package func take(relieved: () -> Void) -> Step {
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
        return step
    }

    /// Waits until there is a reason to look again; returns false if the task is cancelled.
    @inlinable package func called(isolation actor: isolated (any Actor)? = #isolation) async -> Bool {
        let id = state.withLockedValue { state in
            state.waits += 1
            return state.waits
        }
        return await withTaskCancellationHandler {
            _ = actor  // A task that waits on an actor resumes there directly.
            return await withCheckedContinuation { place in
                let now = now
                let (woken, answer) = state.withLockedValue { state -> (Place?, Bool) in
                    // The task was cancelled before its continuation was stored.
                    if Task.isCancelled { return (place, false) }
                    if let deadline = state.buffer.deadline {
                        if deadline <= now { return (place, true) }
                        timer.set(deadline) { [weak self] in self?.ring() }
                    }
                    if state.end != nil, state.buffer.pending == 0 { return (place, true) }
                    // Two tasks use one iterator, which is not allowed: the earlier one gives way.
                    let displaced = state.places.popLast()
                    state.places.append((id, place))
                    return (displaced?.place, false)
                }
                woken?.resume(returning: answer)
            }
        } onCancel: {
            // Another task may have replaced this one.
            state.withLockedValue { $0.places.last?.id == id ? $0.places.popLast() : nil }?.place.resume(returning: false)
        }
    }

    /// Returns the consumer to wake if a value is due, or becomes due before the timer fires.
    @inlinable func placeToWake(_ state: inout State, at now: Moment) -> Place? {
        isDue(state, at: now) ? state.places.popLast()?.place : nil
    }

    /// Whether a consumer waits, and a value is due or becomes due before the timer fires.
    @inlinable func isDue(_ state: State, at now: Moment) -> Bool {
        guard !state.places.isEmpty, let deadline = state.buffer.deadline else { return false }
        return deadline <= now || timer.ringsAfter(deadline)
    }

    @inlinable func ring() { state.withLockedValue { $0.places.popLast() }?.place.resume(returning: true) }

    /// Creates a mailbox whose buffer type is known only at run time.
    convenience init<Item, Given>(_ buffer: any DeliveryBuffer<Item, Given>, time: LinkTime, isTimed: Bool)
    where Buffer == AnyDelivery<Item, Given>, Failure == WebSocketError {
        self.init(AnyDelivery(buffer), time: time, isTimed: isTimed)
    }

    /// Creates a mailbox for the app's own values; deliveries of undecoded messages are only for typed streams.
    ///
    /// - Parameters:
    ///   - convert: Converts a pushed value, or returns nil to leave it out; called under the lock.
    ///   - isNote: Returns whether an item tells that others are missing, so that it must not be dropped.
    @usableFromInline package convenience init<Pushed, Item>(
        _ delivery: StreamDelivery<Item>, time: LinkTime, convert: @escaping @Sendable (Pushed) -> Item?,
        isNote: @escaping @Sendable (Item) -> Bool
    ) where Buffer == AnyDelivery<Pushed, Item>, Failure == WebSocketError {
        let (base, isLossless) = delivery.ownBuffer
        let output: @Sendable (Item) -> Item = { item in item }
        let buffer = ConvertedDelivery(base.paced(by: delivery.paces), convert: convert, isNote: isNote, output: isLossless ? nil : output)
        self.init(AnyDelivery(buffer), time: time, isTimed: !delivery.paces.isEmpty)
    }

    /// Creates the same for batches of at most `limit` values, which wait at most `window` for others.
    package convenience init<Pushed, Item>(
        _ delivery: StreamDelivery<Item>, upTo limit: Int, within window: Duration, time: LinkTime,
        convert: @escaping @Sendable (Pushed) -> Item?, isNote: @escaping @Sendable (Item) -> Bool
    ) where Buffer == AnyDelivery<Pushed, [Item]>, Failure == WebSocketError {
        let (base, isLossless) = delivery.ownBuffer
        let output: @Sendable (Item) -> [Item] = { item in [item] }
        let batches = base.batched(upTo: limit, within: window).paced(by: delivery.paces)
        let buffer = ConvertedDelivery(batches, convert: convert, isNote: isNote, output: isLossless ? nil : output)
        self.init(AnyDelivery(buffer), time: time, isTimed: true)
    }

    /// Creates a mailbox that delivers what is pushed.
    @usableFromInline package convenience init<Item>(_ delivery: StreamDelivery<Item>, time: LinkTime)
    where Buffer == AnyDelivery<Item, Item>, Failure == WebSocketError {
        self.init(delivery.ownBuffer.buffer.paced(by: delivery.paces), time: time, isTimed: !delivery.paces.isEmpty)
    }
}

extension Mailbox: CountedDelivery {
    package var counts: DeliveryCounts { state.withLockedValue { $0.buffer.counts } }
}

/// Counts how values were delivered or dropped.
protocol CountedDelivery: AnyObject, Sendable {
    var counts: DeliveryCounts { get }
}

/// Sums the delivery counts of several consumers: of one stream, or of all streams of a socket.
final class DeliveryTotals: Sendable {
    private struct State {
        var live: [ObjectIdentifier: any CountedDelivery] = [:]
        var ended = DeliveryCounts()
    }
    /// The totals that also count these consumers and others.
    private let parent: DeliveryTotals?
    private let state = LockedValue(State())

    init(within parent: DeliveryTotals? = nil) { self.parent = parent }

    /// Adds a consumer.
    func join(_ consumer: any CountedDelivery) {
        state.withLockedValue { $0.live[ObjectIdentifier(consumer)] = consumer }
        parent?.join(consumer)
    }

    /// Removes a consumer; its counts stay in the sum.
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

    /// The counts; waiting messages are not decoded yet, so they do not count as received values.
    var counts: DeliveryCounts {
        var counts = DeliveryCounts()
        counts.delivered = delivered.withLockedValue({ $0 })
        counts.received = counts.delivered
        return counts
    }

    func add() { delivered.withLockedValue { $0 += 1 } }
}
