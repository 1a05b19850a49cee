import Holdfast
import MachineCore
import Testing

/// Simulates parties that share one source of numbers and act in random order, and checks the rules.
struct EventShareWorld {
    typealias Share = EventShare<Int>
    private enum Activity { case idle, called, waiting, reading }
    private struct Follower {
        let buffering: EventBuffering
        /// The next event that it must see.
        var next: Int
        /// It may get a hole although it suspends, because the previous consumer left one.
        var inheritsHole: Bool
        /// The number of events that the previous consumer left for it; they may exceed its buffer.
        let inherited: Int
        var hasSeenEnd = false

        var suspends: Bool { if case .suspend = buffering { true } else { false } }
        var capacity: Int {
            switch buffering {
            case .suspend(let capacity), .dropOldest(let capacity): capacity
            case .latest: 1
            }
        }
    }

    private let seed: UInt64
    private var random: SplitMix64
    private var share = Share()
    private var activities: [Share.Party: Activity] = [:]
    /// The parties that have a buffer.
    private var followers: [Share.Party: Follower] = [:]
    private var pump: Share.Party?
    private var produced = 0
    /// The first event for the next follower while there is none, and whether it may be a hole.
    private var rest = (next: 0, hasHole: false)
    private var isOver = false
    /// How many events and holes the consumers got.
    private(set) var seen = (events: 0, holes: 0)

    init(seed: UInt64) { (self.seed, random) = (seed, SplitMix64(seed: seed)) }

    mutating func run(steps: Int) {
        for _ in 0..<steps {
            step()
            processCalls()
            check()
        }
        while let reader { cancel(reader) }
        isOver = true
        share.finish(with: .max)
        processCalls()
        for _ in 0..<2 { subscribe() }
        while let party = free.first { ask(party) }
        for (party, follower) in followers {
            expect(follower.hasSeenEnd, "\(party) does not see the end")
            ask(party)
        }
        expect(activities.values.allSatisfy { $0 == .idle }, "a party still waits after the end")
    }

    private mutating func step() {
        switch Int.random(in: 0..<16, using: &random) {
        case 0, 1: if followers.count < 4 { subscribe() }
        case 2: if let party = followers.keys.sorted().randomElement(using: &random) { leave(party) }
        case 3: if activities.count - followers.count < 3 { activities[share.newConsumer()] = .idle }
        case 4: if let party = activities.keys.filter({ followers[$0] == nil && $0 != pump }).min() { forget(party) }
        case 5: if let reader { cancel(reader) }
        case 6...9: if let reader { read(reader) }
        default: if let party = free.randomElement(using: &random) { ask(party) }
        }
    }

    /// The parties that may ask now.
    private var free: [Share.Party] {
        activities.keys.sorted().filter { party in
            switch activities[party] {
            case .called: true
            case .idle: !isOver || followers[party]?.hasSeenEnd == false
            default: false
            }
        }
    }

    private var reader: Share.Party? { activities.first { $0.value == .reading }?.key }

    private mutating func subscribe() {
        let all: [EventBuffering] = [.suspend(capacity: 1), .suspend(capacity: 3), .dropOldest(capacity: 2), .latest]
        let buffering = all.randomElement(using: &random)!
        let party = share.subscribe(buffering, .everything)
        let begin = followers.isEmpty ? rest : (produced, false)
        followers[party] = Follower(buffering: buffering, next: begin.0, inheritsHole: begin.1, inherited: produced - begin.0)
        activities[party] = .idle
    }

    private mutating func leave(_ party: Share.Party) {
        share.leave(party)
        activities[party] = nil
        guard let follower = followers.removeValue(forKey: party), followers.isEmpty else { return }
        rest = (follower.next, follower.inheritsHole || !follower.suspends)
    }

    private mutating func forget(_ party: Share.Party) {
        share.forget(party)
        activities[party] = nil
    }

    /// Cancels a reader.
    private mutating func cancel(_ party: Share.Party) {
        if followers[party] != nil { leave(party) } else { forget(party) }
        // A cancelled pump is started again.
        if party == pump { pump = nil }
    }

    private mutating func read(_ party: Share.Party) {
        let event = produced
        produced += 1
        if followers.isEmpty, produced - rest.next > Share.unfollowedLimit { rest.hasHole = true }
        activities[party] = .idle
        let isNext = share.deliver(event, .news, by: party)
        expect(isNext == (followers[party] != nil), "the reader does not get the event at the right time")
        if isNext { see(event, by: party) }
    }

    private mutating func ask(_ party: Share.Party) {
        activities[party] = .idle
        switch followers[party] == nil ? share.askToRead(party) : share.take(party) {
        case .event(.max):
            let follower = followers[party]!
            expect(isOver && follower.next == produced && !follower.hasSeenEnd, "\(party) sees the end too early")
            followers[party]!.hasSeenEnd = true
        case .event(let event): see(event, by: party)
        case .missed(let count): miss(count, by: party)
        case .read:
            expect(reader == nil, "two parties read at once")
            expect(pump == nil || pump == party, "another party reads while there is a pump")
            expect(!isBlocked, "\(party) reads although a buffer is full")
            activities[party] = .reading
        case .wait: activities[party] = .waiting
        case .over: expect(isOver, "over before the end")
        }
    }

    private mutating func see(_ event: Int, by party: Share.Party) {
        expect(event == followers[party]!.next, "\(party) sees \(event), and not \(followers[party]!.next)")
        followers[party]!.next = event + 1
        followers[party]!.inheritsHole = false
        seen.events += 1
    }

    private mutating func miss(_ count: Int, by party: Share.Party) {
        let follower = followers[party]!
        expect(count > 0 && (follower.inheritsHole || !follower.suspends), "\(party) gets an unexpected hole of \(count)")
        followers[party]!.next += count
        followers[party]!.inheritsHole = false
        let left = produced - follower.next - count
        let isFull = left == follower.capacity || (follower.inheritsHole && left < follower.capacity)
        expect(follower.suspends || isFull, "\(party) misses \(count) events though it has \(left) left")
        seen.holes += 1
    }

    private mutating func processCalls() {
        for party in share.takeCalls() where activities[party] != nil {
            expect(activities[party] == .waiting, "\(party) is called though it does not wait")
            activities[party] = .called
        }
        guard share.pump != pump else { return }
        if let pump, activities[pump] != nil { forget(pump) }
        pump = share.pump
        if let pump { activities[pump] = .idle }
        processCalls()
    }

    /// Whether a suspending buffer is full.
    private var isBlocked: Bool {
        followers.values.contains { $0.suspends && !$0.inheritsHole && produced - $0.next >= $0.capacity }
    }

    private func check() {
        for (party, follower) in followers {
            expect((activities[party] == .waiting) == share.isWaiting(party), "\(party) has another waiting state than the share")
            let waiting = produced - follower.next
            expect(!follower.suspends || waiting <= follower.inherited + follower.capacity, "\(party) has \(waiting) events waiting")
            expect(activities[party] != .waiting || waiting == 0, "\(party) waits although it has events")
        }
        let needsPump = followers.values.contains { !$0.suspends }
        expect(needsPump == (share.pump != nil), "the pump does not match the need for one")
        // While parties wait, some party must read or be about to read.
        let hasNextReader = reader != nil || activities.values.contains(.called) || (pump.map { activities[$0] == .idle } ?? false)
        let hasHoles = followers.values.contains { $0.inheritsHole }
        expect(hasNextReader || isBlocked || hasHoles || !activities.values.contains(.waiting), "all parties wait and none reads")
    }

    private func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition { Issue.record("seed \(seed): \(message())") }
    }
}
