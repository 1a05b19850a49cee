import DequeModule

/// The rules of ``WebSocket/events``, without tasks and locks: which consumer gets what, and who reads when.
///
/// A party is anything that may read from the one source: a consumer, or a call that waits for a single message. One party reads at a
/// time, and what it has read goes to all consumers. So a single consumer needs no other task that reads for it.
///
/// | Promise | Rule |
/// |---|---|
/// | suspending loses nothing | reading pauses while the buffer of a suspending consumer is full |
/// | a lossy consumer holds up no other | while there is one, only a pump reads |
/// | a pushed consumer need not read | the same pump reads, and reading pauses while the consumer is full |
/// | a gap is reported | the buffer counts what it dropped, and reports it before the next event |
/// | some party reads as long as any party waits | when the reader leaves or a buffer has room again, a waiting party is called |
/// | the last consumer that leaves loses nothing | what it had not taken waits for the next consumer |
/// | each consumer sees the end once | the last event is kept apart from the buffers, also for later consumers |
package struct EventShare<Event> {
    /// The id of a party; no id is used twice.
    package typealias Party = UInt64
    /// The events that a consumer wants.
    package enum Interest: Hashable, Sendable { case everything, messages }
    /// The kind of an event, for consumers that do not want all.
    package enum Kind: Hashable, Sendable {
        case news, message
        /// A message that a request had asked for.
        case answer
    }
    /// What a party has to do next.
    package enum Turn {
        case event(Event)
        /// This many events were dropped at this point.
        case missed(Int)
        /// Read, then call ``deliver(_:_:by:)`` or ``release(_:)``.
        case read
        /// Wait until called, then ask again.
        case wait
        case over
    }
    private struct Consumer {
        let consumer: Party
        var capacity: Int
        var isLossy: Bool
        let interest: Interest
        /// Whether it may ``report(_:)`` events about a message to the consumers of everything.
        let reports: Bool
        var buffer: Deque<(event: Event, kind: Kind)> = []
        var missed = 0
        var hasSeenEnd = false

        var isFull: Bool { !isLossy && buffer.count >= capacity }
        var isEmpty: Bool { buffer.isEmpty && missed == 0 }

        func wants(_ kind: Kind) -> Bool { interest == .everything || kind == .message }

        mutating func add(_ event: Event, _ kind: Kind) {
            if isLossy, buffer.count >= capacity {
                buffer.removeFirst()
                missed += 1
            }
            buffer.append((event, kind))
        }
    }
    /// The number of events kept for the first consumer when they are read while there is no consumer.
    package static var unfollowedLimit: Int { 64 }

    private var lastConsumer: Party = 0
    private var consumers: [Consumer] = []
    /// The events that wait for the next consumer while there is none.
    private var rest: Consumer
    /// The pushed consumers: they get messages another way, and need a party that reads.
    private var elsewhere: Set<Party> = []
    /// The pushed consumers that are full.
    private var held: Set<Party> = []
    /// The last event, once it was read.
    package private(set) var end: Event?
    /// The party that reads.
    private var reader: Party?
    /// The party that was called to read and has not come yet.
    private var summoned: Party?
    private var waiting: Deque<Party> = []
    private var calls: [Party] = []
    /// The party that reads for all, while there is a consumer that must not hold up reading.
    package private(set) var pump: Party?

    package init() {
        rest = Consumer(consumer: 0, capacity: Self.unfollowedLimit, isLossy: true, interest: .everything, reports: false)
    }

    /// Returns an id for a party that may read but has no buffer.
    package mutating func newConsumer() -> Party {
        lastConsumer += 1
        return lastConsumer
    }

    // MARK: - Consumers

    /// Adds a consumer for all later events; if it is the only one, it also gets what the last consumer left.
    package mutating func subscribe(_ buffering: EventBuffering, _ interest: Interest, reports: Bool = false) -> Party {
        var consumer = Consumer(
            consumer: newConsumer(), capacity: buffering.capacity, isLossy: buffering.isLossy, interest: interest, reports: reports)
        if !isFollowed {
            consumer.missed = rest.missed
            for (event, kind) in rest.buffer where consumer.wants(kind) { consumer.add(event, kind) }
            (rest.buffer, rest.missed) = ([], 0)
        }
        consumers.append(consumer)
        choosePump()
        return consumer.consumer
    }

    /// Removes a consumer; harmless if it was removed before.
    package mutating func leave(_ consumer: Party) {
        if let index = consumers.firstIndex(where: { $0.consumer == consumer }) {
            let consumer = consumers.remove(at: index)
            if !isFollowed {
                (rest.buffer, rest.missed) = (consumer.buffer, consumer.missed)
                rest.capacity = max(Self.unfollowedLimit, consumer.buffer.count)
            }
            choosePump()
        } else if elsewhere.remove(consumer) != nil {
            held.remove(consumer)
            choosePump()
        }
        forget(consumer)
    }

    /// Adds a pushed consumer; if it is the only consumer, also returns what the last consumer left.
    package mutating func subscribeElsewhere() -> (consumer: Party, rest: [Event]) {
        let consumer = newConsumer()
        elsewhere.insert(consumer)
        choosePump()
        defer { (rest.buffer, rest.missed) = ([], 0) }
        return (consumer, rest.buffer.map(\.event))
    }

    /// Pauses reading while a pushed consumer is full, and resumes it afterwards.
    package mutating func hold(_ consumer: Party, _ isHeld: Bool) {
        guard elsewhere.contains(consumer) else { return }
        if isHeld { held.insert(consumer) } else { held.remove(consumer) }
        summon()
    }

    /// Whether all consumers are pushed consumers.
    package var isElsewhere: Bool { consumers.isEmpty && !elsewhere.isEmpty }

    /// Whether it is the only consumer.
    package func isLone(_ consumer: Party) -> Bool { consumers.count == 1 && consumers[0].consumer == consumer && elsewhere.isEmpty }

    private var isFollowed: Bool { !consumers.isEmpty || !elsewhere.isEmpty }

    /// Returns what a consumer has to do next.
    package mutating func take(_ consumer: Party) -> Turn {
        guard let index = consumers.firstIndex(where: { $0.consumer == consumer }) else { return .over }
        guard consumers[index].isEmpty else {
            defer { arrive(consumer) }
            if consumers[index].missed > 0 {
                defer { consumers[index].missed = 0 }
                return .missed(consumers[index].missed)
            }
            return .event(consumers[index].buffer.removeFirst().event)
        }
        if let end, !consumers[index].hasSeenEnd {
            consumers[index].hasSeenEnd = true
            return .event(end)
        }
        return askToRead(consumer)
    }

    // MARK: - Reading

    /// Returns what a party without anything to take has to do: read, wait, or stop.
    package mutating func askToRead(_ consumer: Party) -> Turn {
        if summoned == consumer { summoned = nil }
        if end != nil { return .over }
        if reader == nil, pump == nil || pump == consumer, hasRoom {
            reader = consumer
            return .read
        }
        waiting.append(consumer)
        // This party may have been called to read instead of another party, which may read now.
        summon()
        return .wait
    }

    /// Delivers an event to all consumers; returns true if its reader should take it at once, because the reader has nothing older.
    ///
    /// - Parameter staysReader: Whether the reader first gives the event to pushed consumers, and then calls ``release(_:)``.
    package mutating func deliver(_ event: Event, _ kind: Kind, by consumer: Party, staysReader: Bool = false) -> Bool {
        if !staysReader { reader = nil }
        var isNext = false
        for index in consumers.indices where consumers[index].wants(kind) {
            if consumers[index].consumer == consumer, consumers[index].isEmpty {
                isNext = true
            } else {
                consumers[index].add(event, kind)
                call(consumers[index].consumer)
            }
        }
        if !isFollowed { rest.add(event, kind) }
        summon()
        return isNext
    }

    /// Records the last event and ends reading; each consumer gets the event after the ones that it has yet to take.
    package mutating func finish(with event: Event) {
        (reader, summoned, end, pump) = (nil, nil, event, nil)
        calls += waiting
        waiting = []
    }

    /// Ends the turn of a reader that has nothing to deliver.
    package mutating func release(_ consumer: Party) {
        if reader == consumer { reader = nil }
        summon()
    }

    /// Reports an event that was not read to all consumers of everything; lost if there is none.
    ///
    /// The event ignores the capacity of the buffers, but there is at most one for each message that a reporting consumer has taken.
    package mutating func report(_ event: Event) {
        for index in consumers.indices where consumers[index].interest == .everything {
            consumers[index].add(event, .news)
            call(consumers[index].consumer)
        }
    }

    // MARK: - Calling

    package func isWaiting(_ consumer: Party) -> Bool { waiting.contains(consumer) }

    /// Removes a party from the waiting ones; it will not read even if it was called to.
    package mutating func forget(_ consumer: Party) {
        if let index = waiting.firstIndex(of: consumer) { waiting.remove(at: index) }
        if reader == consumer { reader = nil }
        arrive(consumer)
    }

    /// Removes and returns the parties to wake; each of them asks again.
    package mutating func takeCalls() -> [Party] {
        if calls.isEmpty { return [] }
        defer { calls = [] }
        return calls
    }

    private mutating func arrive(_ consumer: Party) {
        if summoned == consumer { summoned = nil }
        summon()
    }

    /// Wakes a waiting party so that it asks again.
    package mutating func call(_ consumer: Party) {
        guard let index = waiting.firstIndex(of: consumer) else { return }
        waiting.remove(at: index)
        calls.append(consumer)
    }

    /// Calls a waiting party if it may read: the pump, or else the one that has waited longest.
    private mutating func summon() {
        guard reader == nil, summoned == nil, end == nil, let next = pump ?? waiting.first, waiting.contains(next), hasRoom else { return }
        summoned = next
        call(next)
    }

    private var hasRoom: Bool { held.isEmpty && !consumers.contains { $0.isFull } }

    /// Starts or ends the pump.
    ///
    /// A consumer that reads cannot get reports meanwhile, so a pump reads if other consumers report.
    private mutating func choosePump() {
        let isWanted =
            !elsewhere.isEmpty || consumers.contains { $0.isLossy }
            || (consumers.contains { $0.reports } && consumers.contains { $0.interest == .everything })
        guard end == nil, isWanted != (pump != nil) else { return }
        if let pump {
            self.pump = nil
            if summoned == pump { summoned = nil }  // If it still comes, it gets `over`.
            call(pump)
        } else {
            pump = newConsumer()
        }
    }
}
