import Holdfast
import Testing

/// The rules of who gets what, without tasks.
@Suite(.timeLimit(.minutes(1))) struct EventShareTests {
    typealias Share = EventShare<Int>
    private var share = Share()

    /// What a consumer has before it, in words; takes all of it, and does not read.
    private mutating func rest(of party: Share.Party) -> [String] {
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

    /// Reads these without being a consumer.
    private mutating func read(_ events: ClosedRange<Int>, _ kind: Share.Kind = .news) {
        let party = share.pump ?? share.newConsumer()
        for event in events {
            guard case .read = share.askToRead(party) else { return #expect(Bool(false), "\(event) cannot be read") }
            #expect(share.deliver(event, kind, by: party) == false)
        }
        share.forget(party)
    }

    @Test func `however parties come, go, read and wait, the promises hold`() {
        var seen = (events: 0, holes: 0)
        for seed in 0..<1500 as Range<UInt64> {
            var world = EventShareWorld(seed: seed)
            world.run(steps: 200)
            seen = (seen.events + world.seen.events, seen.holes + world.seen.holes)
        }
        #expect(seen.events > 20_000 && seen.holes > 2_000, "\(seen)")
    }

    @Test mutating func `a lone consumer has what it reads at once, and never waits`() {
        let party = share.subscribe(.suspend(capacity: 1), .everything)
        for event in 1...100 {
            guard case .read = share.take(party) else { return #expect(Bool(false)) }
            #expect(share.deliver(event, .message, by: party) == true)
            #expect(share.takeCalls().isEmpty)
        }
    }

    @Test mutating func `drop oldest keeps the newest, and tells the hole before them`() {
        let party = share.subscribe(.dropOldest(capacity: 3), .everything)
        read(1...10)
        #expect(rest(of: party) == ["missed 7", "8", "9", "10"])
    }

    @Test mutating func `latest keeps one`() {
        let party = share.subscribe(.latest, .everything)
        read(1...10)
        #expect(rest(of: party) == ["missed 9", "10"])
    }

    @Test mutating func `a full buffer that suspends stops the reading, and room starts it again`() {
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

    @Test mutating func `when the reader leaves, one that waits reads on`() {
        let first = share.subscribe(.suspend(), .everything)
        let others = [share.subscribe(.suspend(), .everything), share.subscribe(.suspend(), .everything)]
        guard case .read = share.take(first) else { return #expect(Bool(false)) }
        for party in others { guard case .wait = share.take(party) else { return #expect(Bool(false)) } }
        share.leave(first)
        #expect(share.takeCalls() == [others[0]])
        // It is gone before it has heard: the next one is called.
        share.leave(others[0])
        #expect(share.takeCalls() == [others[1]])
    }

    @Test mutating func `messages are not the news, and answers are not messages`() {
        let messages = share.subscribe(.suspend(), .messages)
        let everything = share.subscribe(.suspend(), .everything)
        read(1...1, .news)
        read(2...2, .message)
        read(3...3, .answer)
        #expect(rest(of: messages) == ["2"])
        #expect(rest(of: everything) == ["1", "2", "3"])
    }

    @Test mutating func `what nobody follows is kept for the next consumer, within bounds`() {
        read(1...1000)
        #expect(rest(of: share.subscribe(.suspend(), .everything)) == ["missed 936"] + (937...1000).map(String.init))
    }

    @Test mutating func `the last that leaves leaves what it had not taken, one that leaves before it nothing`() {
        let first = share.subscribe(.suspend(), .everything)
        let last = share.subscribe(.suspend(), .everything)
        read(1...3)
        guard case .event(1) = share.take(last) else { return #expect(Bool(false)) }
        share.leave(first)
        share.leave(last)
        share.leave(last)
        let next = share.subscribe(.suspend(), .everything)
        let later = share.subscribe(.suspend(), .everything)
        #expect(rest(of: next) == ["2", "3"])
        #expect(rest(of: later).isEmpty)
    }

    @Test mutating func `the end comes after the rest, once, and to those who come late`() {
        let party = share.subscribe(.latest, .everything)
        read(1...2)
        share.finish(with: 99)
        #expect(rest(of: party) == ["missed 1", "2", "99", "over"])
        #expect(rest(of: party) == ["over"])
        #expect(rest(of: share.subscribe(.suspend(), .messages)) == ["99", "over"])
    }

    @Test mutating func `a report reaches those who follow everything, at once and though they are full`() {
        let reporter = share.subscribe(.suspend(), .messages, reports: true)
        let full = share.subscribe(.suspend(capacity: 1), .everything)
        let waiting = share.subscribe(.suspend(), .everything)
        read(1...1, .message)
        #expect(rest(of: waiting) == ["1"])
        guard case .wait = share.take(waiting) else { return #expect(Bool(false), "whoever reads cannot be told meanwhile") }
        share.report(50)
        #expect(share.takeCalls().contains(waiting))
        #expect(rest(of: waiting) == ["50"] && rest(of: full) == ["1", "50"] && rest(of: reporter) == ["1"])
    }

    @Test mutating func `a report that nobody follows is kept for nobody`() {
        let reporter = share.subscribe(.suspend(), .messages, reports: true)
        for number in 1...1000 { share.report(number) }
        share.leave(reporter)
        #expect(rest(of: share.subscribe(.suspend(), .everything)).isEmpty)
    }

    @Test mutating func `a pump that is let go of after it was called leaves its turn to another`() {
        let suspending = share.subscribe(.suspend(capacity: 1), .everything)
        read(1...1)
        let lossy = share.subscribe(.latest, .everything)
        guard let pump = share.pump, case .wait = share.askToRead(pump), case .wait = share.askToRead(share.newConsumer()) else {
            return #expect(Bool(false))
        }
        // Room is made, so the pump is called; before it comes it is needed no more.
        guard case .event = share.take(suspending) else { return #expect(Bool(false)) }
        #expect(share.takeCalls() == [pump])
        guard case .wait = share.take(suspending) else { return #expect(Bool(false)) }
        share.leave(lossy)
        #expect(share.pump == nil)
        #expect(share.takeCalls().count == 1)
    }
}
