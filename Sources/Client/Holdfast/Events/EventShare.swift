import DequeModule

/// Who of several consumers gets what, who reads, and when nobody may: the rules of ``WebSocket/events``, without tasks and locks.
///
/// A party is whoever may read from the one source: a consumer, or somebody who waits for a single message. One party reads at a time,
/// and what it has read goes to all consumers. So a lone consumer needs nobody to read for it.
///
/// | Promise | Rule |
/// |---|---|
/// | nothing is lost by suspending | nobody reads while the buffer of a consumer that suspends is full |
/// | a lossy consumer holds up nobody | while there is one, a pump reads, and only that |
/// | one that is fed elsewhere need not read | the same; and nobody reads while it has enough |
/// | a hole is told | what a buffer dropped is counted, and told before what follows |
/// | somebody reads as long as somebody waits | a party that may read is called whenever the reader is gone or room is made |
/// | the last one that leaves takes nothing along | what it had not taken waits for the next consumer |
/// | one end for each | the last event is kept apart from the buffers, also for consumers that come later |
package struct EventShare<Event> {
    /// The name of a party; none is used twice.
    package typealias Party = UInt64
    /// Which events concern a consumer.
    package enum Interest: Hashable, Sendable { case everything, messages }
    /// What an event is to those who choose.
    package enum Kind: Hashable, Sendable {
        case news, message
        /// A message that somebody had asked for.
        case answer
    }
    /// What whoever asks is to do next.
    package enum Turn {
        case event(Event)
        /// So many events were dropped here.
        case missed(Int)
        /// Read, then tell ``deliver(_:_:by:)`` or ``release(_:)``.
        case read
        /// Wait until called, then ask again.
        case wait
        case over
    }
    private struct Consumer {
        let party: Party
        var capacity: Int
        var isLossy: Bool
        let interest: Interest
        /// It may ``report(_:)`` something about a message to the consumers of everything.
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
    /// How many events that were read while nobody follows them are kept for the first who will.
    package static var unfollowedLimit: Int { 64 }

    private var lastParty: Party = 0
    private var consumers: [Consumer] = []
    /// What waits for the next consumer while there is none.
    private var rest: Consumer
    /// Consumers that are given messages by another way, and need somebody who reads.
    private var elsewhere: Set<Party> = []
    /// Those of them that have enough.
    private var held: Set<Party> = []
    /// The last event, once it was read.
    package private(set) var end: Event?
    /// Who reads.
    private var reader: Party?
    /// Who was called to read and has not come yet.
    private var summoned: Party?
    private var waiting: Deque<Party> = []
    private var calls: [Party] = []
    /// Who reads for all, while there is somebody whom reading must not wait for.
    package private(set) var pump: Party?

    package init() {
        rest = Consumer(party: 0, capacity: Self.unfollowedLimit, isLossy: true, interest: .everything, reports: false)
    }

    /// A name for somebody who may read and has no buffer.
    package mutating func newParty() -> Party {
        lastParty += 1
        return lastParty
    }

    // MARK: - Consumers

    /// A new consumer: it sees what comes from now on, and what the last one left if there is none now.
    package mutating func subscribe(_ buffering: EventBuffering, _ interest: Interest, reports: Bool = false) -> Party {
        var consumer = Consumer(
            party: newParty(), capacity: buffering.capacity, isLossy: buffering.isLossy, interest: interest, reports: reports)
        if !isFollowed {
            consumer.missed = rest.missed
            for (event, kind) in rest.buffer where consumer.wants(kind) { consumer.add(event, kind) }
            (rest.buffer, rest.missed) = ([], 0)
        }
        consumers.append(consumer)
        choosePump()
        return consumer.party
    }

    /// A consumer is gone; harmless if it had gone before.
    package mutating func leave(_ party: Party) {
        if let index = consumers.firstIndex(where: { $0.party == party }) {
            let consumer = consumers.remove(at: index)
            if !isFollowed {
                (rest.buffer, rest.missed) = (consumer.buffer, consumer.missed)
                rest.capacity = max(Self.unfollowedLimit, consumer.buffer.count)
            }
            choosePump()
        } else if elsewhere.remove(party) != nil {
            held.remove(party)
            choosePump()
        }
        forget(party)
    }

    /// A new consumer that is given messages by another way, and with it what the last one left if there is none now.
    package mutating func subscribeElsewhere() -> (party: Party, rest: [Event]) {
        let party = newParty()
        elsewhere.insert(party)
        choosePump()
        defer { (rest.buffer, rest.missed) = ([], 0) }
        return (party, rest.buffer.map(\.event))
    }

    /// Nobody is to read because of what a consumer has elsewhere; or no more because of that.
    package mutating func hold(_ party: Party, _ isHeld: Bool) {
        guard elsewhere.contains(party) else { return }
        if isHeld { held.insert(party) } else { held.remove(party) }
        summon()
    }

    /// Whether all consumers are given messages by another way.
    package var isElsewhere: Bool { consumers.isEmpty && !elsewhere.isEmpty }

    /// Whether it is the only consumer.
    package func isLone(_ party: Party) -> Bool { consumers.count == 1 && consumers[0].party == party && elsewhere.isEmpty }

    private var isFollowed: Bool { !consumers.isEmpty || !elsewhere.isEmpty }

    /// What a consumer is to do next.
    package mutating func take(_ party: Party) -> Turn {
        guard let index = consumers.firstIndex(where: { $0.party == party }) else { return .over }
        guard consumers[index].isEmpty else {
            defer { arrive(party) }
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
        return askToRead(party)
    }

    // MARK: - Reading

    /// What somebody is to do who has nothing to take: read, wait, or nothing more.
    package mutating func askToRead(_ party: Party) -> Turn {
        if summoned == party { summoned = nil }
        if end != nil { return .over }
        if reader == nil, pump == nil || pump == party, hasRoom {
            reader = party
            return .read
        }
        waiting.append(party)
        // It may have been called in the place of another who may read now.
        summon()
        return .wait
    }

    /// Hands what was read to all consumers; true if its reader is to have it at once, for it is next in its turn.
    ///
    /// - Parameter staysReader: It is given to others by another way first, and then told with ``release(_:)``.
    package mutating func deliver(_ event: Event, _ kind: Kind, by party: Party, staysReader: Bool = false) -> Bool {
        if !staysReader { reader = nil }
        var isNext = false
        for index in consumers.indices where consumers[index].wants(kind) {
            if consumers[index].party == party, consumers[index].isEmpty {
                isNext = true
            } else {
                consumers[index].add(event, kind)
                call(consumers[index].party)
            }
        }
        if !isFollowed { rest.add(event, kind) }
        summon()
        return isNext
    }

    /// The last event was read: reading is over, and each consumer gets it after what it has yet to take.
    package mutating func finish(with event: Event) {
        (reader, summoned, end, pump) = (nil, nil, event, nil)
        calls += waiting
        waiting = []
    }

    /// Whoever reads has nothing to deliver.
    package mutating func release(_ party: Party) {
        if reader == party { reader = nil }
        summon()
    }

    /// Tells all consumers of everything something that was not read; lost if there is none.
    ///
    /// No buffer is too full for it, but there is at most one for each message that a reporting consumer has taken.
    package mutating func report(_ event: Event) {
        for index in consumers.indices where consumers[index].interest == .everything {
            consumers[index].add(event, .news)
            call(consumers[index].party)
        }
    }

    // MARK: - Calling

    package func isWaiting(_ party: Party) -> Bool { waiting.contains(party) }

    /// Somebody waits no more, and will not read if it was called to.
    package mutating func forget(_ party: Party) {
        if let index = waiting.firstIndex(of: party) { waiting.remove(at: index) }
        if reader == party { reader = nil }
        arrive(party)
    }

    /// Removes and returns who is to be woken, each to ask again.
    package mutating func takeCalls() -> [Party] {
        if calls.isEmpty { return [] }
        defer { calls = [] }
        return calls
    }

    private mutating func arrive(_ party: Party) {
        if summoned == party { summoned = nil }
        summon()
    }

    /// Wakes a party that waits, to ask again.
    package mutating func call(_ party: Party) {
        guard let index = waiting.firstIndex(of: party) else { return }
        waiting.remove(at: index)
        calls.append(party)
    }

    /// Calls one that waits if it may read: the one that has waited longest, or the pump.
    private mutating func summon() {
        guard reader == nil, summoned == nil, end == nil, let next = pump ?? waiting.first, waiting.contains(next), hasRoom else { return }
        summoned = next
        call(next)
    }

    private var hasRoom: Bool { held.isEmpty && !consumers.contains { $0.isFull } }

    /// A consumer that reads cannot be told anything else meanwhile, so it must not if others report.
    private mutating func choosePump() {
        let isWanted =
            !elsewhere.isEmpty || consumers.contains { $0.isLossy }
            || (consumers.contains { $0.reports } && consumers.contains { $0.interest == .everything })
        guard end == nil, isWanted != (pump != nil) else { return }
        if let pump {
            self.pump = nil
            if summoned == pump { summoned = nil }  // Should it still come, it is told that it is over.
            call(pump)
        } else {
            pump = newParty()
        }
    }
}
