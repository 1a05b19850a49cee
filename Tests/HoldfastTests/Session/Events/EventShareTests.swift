import Holdfast
import Testing

/// The rules of event delivery, without tasks.
@Suite(.timeLimit(.minutes(1))) struct EventShareTests {
    typealias Share = EventShare<Int>
    private var share = Share()

    /// Takes all events that wait for a consumer, as texts, without reading.
    private mutating func takeAll(of party: Share.Party) -> [String] {
        var words: [String] = []
        while words.count < 1000 {
            switch share.take(party) {
            case .event(let event): words.append("\(event)")
            case .missed(let count): words.append("missed \(count)")
            case .read:
                share.release(party)
                return words
            case .wait:
                share.forget(party)
                return words
            case .over: return words + ["over"]
            }
        }
        return words
    }

    /// Reads these events without being a consumer.
    private mutating func read(_ events: ClosedRange<Int>, _ kind: Share.Kind = .news) {
        let party = share.pump ?? share.newConsumer()
        for event in events {
            guard case .read = share.askToRead(party) else { return #expect(Bool(false), "\(event) cannot be read") }
            #expect(share.deliver(event, kind, by: party) == false)
        }
        share.forget(party)
    }

    @Test func `in random sequences of subscribing, leaving, reading and waiting the rules hold`() {
        var seen = (events: 0, holes: 0)
        for seed in 0..<1500 as Range<UInt64> {
            var world = EventShareWorld(seed: seed)
            world.run(steps: 200)
            seen = (seen.events + world.seen.events, seen.holes + world.seen.holes)
        }
        #expect(seen.events > 20_000 && seen.holes > 2_000, "\(seen)")
    }

    @Test mutating func `a single consumer gets what it reads at once and never waits`() {
        let party = share.subscribe(.suspend(capacity: 1), .everything)
        for event in 1...100 {
            guard case .read = share.take(party) else { return #expect(Bool(false)) }
            #expect(share.deliver(event, .message, by: party) == true)
            #expect(share.takeCalls().isEmpty)
        }
    }

    @Test mutating func `drop oldest keeps the newest events and reports the hole before them`() {
        let party = share.subscribe(.dropOldest(capacity: 3), .everything)
        read(1...10)
        #expect(takeAll(of: party) == ["missed 7", "8", "9", "10"])
    }

    @Test mutating func `latest keeps one event`() {
        let party = share.subscribe(.latest, .everything)
        read(1...10)
        #expect(takeAll(of: party) == ["missed 9", "10"])
    }

    @Test mutating func `a full suspending buffer stops the reading, and free space starts it again`() {
        let slow = share.subscribe(.suspend(capacity: 2), .everything)
        let quick = share.subscribe(.suspend(capacity: 2), .everything)
        for event in 1...2 {
            guard case .read = share.take(quick) else { return #expect(Bool(false)) }
            #expect(share.deliver(event, .news, by: quick) == true)
        }
        guard case .wait = share.take(quick) else { return #expect(Bool(false)) }
        #expect(share.takeCalls().isEmpty)
        guard case .event(1) = share.take(slow) else { return #expect(Bool(false)) }
        #expect(share.takeCalls() == [quick])
        guard case .read = share.take(quick) else { return #expect(Bool(false)) }
    }

    @Test mutating func `when the reader leaves, a waiting consumer reads on`() {
        let first = share.subscribe(.suspend(), .everything)
        let others = [share.subscribe(.suspend(), .everything), share.subscribe(.suspend(), .everything)]
        guard case .read = share.take(first) else { return #expect(Bool(false)) }
        for party in others { guard case .wait = share.take(party) else { return #expect(Bool(false)) } }
        share.leave(first)
        #expect(share.takeCalls() == [others[0]])
        // The called consumer leaves before it reacts, so the next one is called.
        share.leave(others[0])
        #expect(share.takeCalls() == [others[1]])
    }

    @Test mutating func `a messages consumer gets no news, and answers are not messages`() {
        let messages = share.subscribe(.suspend(), .messages)
        let everything = share.subscribe(.suspend(), .everything)
        read(1...1, .news)
        read(2...2, .message)
        read(3...3, .answer)
        #expect(takeAll(of: messages) == ["2"])
        #expect(takeAll(of: everything) == ["1", "2", "3"])
    }

    @Test mutating func `events without consumers are kept for the next consumer, up to a limit`() {
        read(1...1000)
        #expect(takeAll(of: share.subscribe(.suspend(), .everything)) == ["missed 936"] + (937...1000).map(String.init))
    }

    @Test mutating func `the last consumer that leaves passes on its remaining events, and one that leaves earlier does not`() {
        let first = share.subscribe(.suspend(), .everything)
        let last = share.subscribe(.suspend(), .everything)
        read(1...3)
        guard case .event(1) = share.take(last) else { return #expect(Bool(false)) }
        share.leave(first)
        share.leave(last)
        share.leave(last)
        let next = share.subscribe(.suspend(), .everything)
        let later = share.subscribe(.suspend(), .everything)
        #expect(takeAll(of: next) == ["2", "3"])
        #expect(takeAll(of: later).isEmpty)
    }

    @Test mutating func `the end comes once after the remaining events, and late consumers get it too`() {
        let party = share.subscribe(.latest, .everything)
        read(1...2)
        share.finish(with: 99)
        #expect(takeAll(of: party) == ["missed 1", "2", "99", "over"])
        #expect(takeAll(of: party) == ["over"])
        #expect(takeAll(of: share.subscribe(.suspend(), .messages)) == ["99", "over"])
    }

    @Test mutating func `a report reaches every consumer of all events at once, even with a full buffer`() {
        let reporter = share.subscribe(.suspend(), .messages, reports: true)
        let full = share.subscribe(.suspend(capacity: 1), .everything)
        let waiting = share.subscribe(.suspend(), .everything)
        read(1...1, .message)
        #expect(takeAll(of: waiting) == ["1"])
        guard case .wait = share.take(waiting) else { return #expect(Bool(false), "a reading consumer cannot get the report") }
        share.report(50)
        #expect(share.takeCalls().contains(waiting))
        #expect(takeAll(of: waiting) == ["50"] && takeAll(of: full) == ["1", "50"] && takeAll(of: reporter) == ["1"])
    }

    @Test mutating func `a report without consumers is not kept`() {
        let reporter = share.subscribe(.suspend(), .messages, reports: true)
        for number in 1...1000 { share.report(number) }
        share.leave(reporter)
        #expect(takeAll(of: share.subscribe(.suspend(), .everything)).isEmpty)
    }

    @Test mutating func `a pump that is released after it was called passes its turn to another reader`() {
        let suspending = share.subscribe(.suspend(capacity: 1), .everything)
        read(1...1)
        let lossy = share.subscribe(.latest, .everything)
        guard let pump = share.pump, case .wait = share.askToRead(pump), case .wait = share.askToRead(share.newConsumer()) else {
            return #expect(Bool(false))
        }
        // Free space makes the share call the pump; before the pump reacts it is no longer needed.
        guard case .event = share.take(suspending) else { return #expect(Bool(false)) }
        #expect(share.takeCalls() == [pump])
        guard case .wait = share.take(suspending) else { return #expect(Bool(false)) }
        share.leave(lossy)
        #expect(share.pump == nil)
        #expect(share.takeCalls().count == 1)
    }
}
