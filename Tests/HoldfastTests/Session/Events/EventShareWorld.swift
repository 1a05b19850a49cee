import Holdfast
import MachineCore
import Testing

/// Parties that share one source of numbers, each of which does what it is told when chance lets it; and what must hold of that.
struct EventShareWorld {
    typealias Share = EventShare<Int>
    private enum Doing { case something, called, waiting, reading }
    private struct Follower {
        let buffering: EventBuffering
        /// The event it must see next.
        var next: Int
        /// It may be told of a hole although it suspends: the one before it left that.
        var inheritsHole: Bool
        /// How many events it may have before it, though its buffer is smaller: those the one before it left.
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
    private var doing: [Share.Party: Doing] = [:]
    /// The parties that have a buffer.
    private var followers: [Share.Party: Follower] = [:]
    private var pump: Share.Party?
    private var produced = 0
    /// What the next follower sees first if there is none now, and whether it may be a hole.
    private var rest = (next: 0, hasHole: false)
    private var isOver = false
    /// How often a consumer got an event, and was told of a hole.
    private(set) var seen = (events: 0, holes: 0)

    init(seed: UInt64) { (self.seed, random) = (seed, SplitMix64(seed: seed)) }

    mutating func run(steps: Int) {
        for _ in 0..<steps {
            step()
            obey()
            check()
        }
        while let reader { giveUp(reader) }
        isOver = true
        share.finish(with: .max)
        obey()
        for _ in 0..<2 { subscribe() }
        while let party = free.first { ask(party) }
        for (party, follower) in followers {
            expect(follower.hasSeenEnd, "\(party) does not see the end")
            ask(party)
        }
        expect(doing.values.allSatisfy { $0 == .something }, "somebody still waits after the end")
    }

    private mutating func step() {
        switch Int.random(in: 0..<16, using: &random) {
        case 0, 1: if followers.count < 4 { subscribe() }
        case 2: if let party = followers.keys.sorted().randomElement(using: &random) { leave(party) }
        case 3: if doing.count - followers.count < 3 { doing[share.newConsumer()] = .something }
        case 4: if let party = doing.keys.filter({ followers[$0] == nil && $0 != pump }).min() { forget(party) }
        case 5: if let reader { giveUp(reader) }
        case 6...9: if let reader { read(reader) }
        default: if let party = free.randomElement(using: &random) { ask(party) }
        }
    }

    /// Those who may ask now.
    private var free: [Share.Party] {
        doing.keys.sorted().filter { party in
            switch doing[party] {
            case .called: true
            case .something: !isOver || followers[party]?.hasSeenEnd == false
            default: false
            }
        }
    }

    private var reader: Share.Party? { doing.first { $0.value == .reading }?.key }

    private mutating func subscribe() {
        let all: [EventBuffering] = [.suspend(capacity: 1), .suspend(capacity: 3), .dropOldest(capacity: 2), .latest]
        let buffering = all.randomElement(using: &random)!
        let party = share.subscribe(buffering, .everything)
        let begin = followers.isEmpty ? rest : (produced, false)
        followers[party] = Follower(buffering: buffering, next: begin.0, inheritsHole: begin.1, inherited: produced - begin.0)
        doing[party] = .something
    }

    private mutating func leave(_ party: Share.Party) {
        share.leave(party)
        doing[party] = nil
        guard let follower = followers.removeValue(forKey: party), followers.isEmpty else { return }
        rest = (follower.next, follower.inheritsHole || !follower.suspends)
    }

    private mutating func forget(_ party: Share.Party) {
        share.forget(party)
        doing[party] = nil
    }

    /// The reader is cancelled.
    private mutating func giveUp(_ party: Share.Party) {
        if followers[party] != nil { leave(party) } else { forget(party) }
        // It would be started again.
        if party == pump { pump = nil }
    }

    private mutating func read(_ party: Share.Party) {
        let event = produced
        produced += 1
        if followers.isEmpty, produced - rest.next > Share.unfollowedLimit { rest.hasHole = true }
        doing[party] = .something
        let isNext = share.deliver(event, .news, by: party)
        expect(isNext == (followers[party] != nil), "it is not the reader's turn to have what it read")
        if isNext { see(event, by: party) }
    }

    private mutating func ask(_ party: Share.Party) {
        doing[party] = .something
        switch followers[party] == nil ? share.askToRead(party) : share.take(party) {
        case .event(.max):
            let follower = followers[party]!
            expect(isOver && follower.next == produced && !follower.hasSeenEnd, "\(party) sees the end before it is there")
            followers[party]!.hasSeenEnd = true
        case .event(let event): see(event, by: party)
        case .missed(let count): miss(count, by: party)
        case .read:
            expect(reader == nil, "two read at once")
            expect(pump == nil || pump == party, "somebody reads beside the pump")
            expect(!isBlocked, "\(party) reads although a buffer is full")
            doing[party] = .reading
        case .wait: doing[party] = .waiting
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
        expect(count > 0 && (follower.inheritsHole || !follower.suspends), "\(party) is told of a hole of \(count)")
        followers[party]!.next += count
        followers[party]!.inheritsHole = false
        let left = produced - follower.next - count
        let isFull = left == follower.capacity || (follower.inheritsHole && left < follower.capacity)
        expect(follower.suspends || isFull, "\(party) misses \(count), and has \(left) left")
        seen.holes += 1
    }

    private mutating func obey() {
        for party in share.takeCalls() where doing[party] != nil {
            expect(doing[party] == .waiting, "\(party) is called and does not wait")
            doing[party] = .called
        }
        guard share.pump != pump else { return }
        if let pump, doing[pump] != nil { forget(pump) }
        pump = share.pump
        if let pump { doing[pump] = .something }
        obey()
    }

    /// Whether a buffer is full that nothing may be dropped from.
    private var isBlocked: Bool {
        followers.values.contains { $0.suspends && !$0.inheritsHole && produced - $0.next >= $0.capacity }
    }

    private func check() {
        for (party, follower) in followers {
            expect((doing[party] == .waiting) == share.isWaiting(party), "\(party) is not where it should be")
            let waiting = produced - follower.next
            expect(!follower.suspends || waiting <= follower.inherited + follower.capacity, "\(party) has \(waiting) events before it")
            expect(doing[party] != .waiting || waiting == 0, "\(party) waits for what it has")
        }
        let needsPump = followers.values.contains { !$0.suspends }
        expect(needsPump == (share.pump != nil), "a pump is there without need, or not in need")
        // Whoever waits is not forgotten while nobody reads, however busy the others are.
        let somebodyComes = reader != nil || doing.values.contains(.called) || (pump.map { doing[$0] == .something } ?? false)
        let hasHoles = followers.values.contains { $0.inheritsHole }
        expect(somebodyComes || isBlocked || hasHoles || !doing.values.contains(.waiting), "all wait for nobody")
    }

    private func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition { Issue.record("seed \(seed): \(message())") }
    }
}
