import MachineCore
import Testing

@testable import WAMPCore

/// What waits for one client, and who is held for it.
@Suite struct BacklogTests {
    /// A client's backlog of 4,000 bytes at 100 bytes a second: one other may make 1,000 bytes wait, and a look takes ten seconds.
    private struct Line {
        var backlog = Backlog(Backlog.Bounds(waiting: 4000, slowest: 100))
        var now = Moment.start
        private(set) var held: Set<UInt64> = []
        private var waiting: [Backlog.Load] = []

        mutating func add(_ bytes: Int, _ kind: Backlog.Kind = .exchange, by cause: UInt64? = 1) -> Backlog.Verdict {
            let load = Backlog.Load(bytes: bytes, kind: kind, cause: cause.map { RouterConnection($0) })
            var effects: [Backlog.Effect] = []
            let verdict = backlog.add(load, at: now, into: &effects)
            if verdict == .kept { waiting.append(load) }
            note(effects)
            return verdict
        }

        /// The client takes so many of the messages that wait.
        mutating func take(_ count: Int) {
            for load in waiting.prefix(count) {
                var effects: [Backlog.Effect] = []
                backlog.remove(load, into: &effects)
                note(effects)
            }
            waiting.removeFirst(min(count, waiting.count))
        }

        mutating func clear() {
            var effects: [Backlog.Effect] = []
            backlog.clear(into: &effects)
            note(effects)
        }

        mutating func pass(_ time: Duration) {
            now = now + time
            var effects: [Backlog.Effect] = []
            backlog.wake(at: now, into: &effects)
            note(effects)
        }

        private mutating func note(_ effects: [Backlog.Effect]) {
            for effect in effects {
                switch effect {
                case .hold(let client): #expect(held.insert(client.number).inserted)
                case .release(let client): #expect(held.remove(client.number) != nil)
                }
            }
        }
    }

    @Test func `who fills a client's queue is held until the client has taken half of its share`() {
        var line = Line()
        #expect(line.add(1000) == .kept && line.held.isEmpty && line.backlog.deadline == nil)
        #expect(line.add(1) == .kept && line.held == [1] && line.backlog.deadline == Moment(.seconds(10)))
        #expect(line.add(400) == .kept && line.held == [1])
        line.take(1)
        #expect(line.held.isEmpty)
        line.take(2)
        #expect(line.backlog.deadline == nil)
    }

    @Test func `others are not held for what one does, and several share what one may fill alone`() {
        var line = Line()
        #expect(line.add(1001) == .kept && line.add(10, by: 2) == .kept && line.held == [1])
        #expect(line.add(491, by: 2) == .kept && line.held == [1, 2])
        // Many of them get a sixteenth each.
        for other in UInt64(3)..<40 { _ = line.add(62, by: other) }
        #expect(line.held == [1, 2])
        _ = line.add(1, by: 39)
        #expect(line.held == [1, 2, 39])
    }

    @Test func `one fills half of a queue and all together the whole of it: more is refused`() {
        var line = Line()
        #expect(line.add(1999) == .kept && line.add(2) == .refused && line.add(1) == .kept)
        #expect(line.add(1999, by: 2) == .kept && line.add(2, by: 3) == .refused && line.add(1, by: 3) == .kept)
        line.take(1)
        #expect(line.add(1000, by: 3) == .kept)
    }

    @Test func `a long message comes by itself, and nothing of others beside it`() {
        var line = Line()
        #expect(line.add(1000, by: 2) == .kept && line.add(100_000) == .kept && line.held == [1])
        #expect(line.add(1, by: 2) == .refused && line.add(1, by: 3) == .refused)
        line.take(2)
        #expect(line.held.isEmpty && line.add(1, by: 2) == .kept)
    }

    @Test func `a client that takes too little holds nobody any longer, and is still not cut off for calls`() {
        var line = Line()
        #expect(line.add(1500) == .kept && line.held == [1])
        line.pass(.seconds(9))
        #expect(line.held == [1])
        line.pass(.seconds(1))
        #expect(line.held.isEmpty && line.backlog.deadline == nil)
        #expect(line.add(500) == .kept && line.held.isEmpty)
        for other in UInt64(1)..<10 { #expect(line.add(2001, by: other) == .refused) }
        // Nor for the events of others that find no room beside them.
        #expect(line.add(2000, by: 2) == .kept && line.add(1, .event, by: 3) == .refused)
    }

    @Test func `a client is cut off for events if it is slower than any may be, and not before it was looked at`() {
        var line = Line()
        #expect(line.add(2000, .event) == .kept && line.add(1, .event) == .refused)
        line.pass(.seconds(10))
        #expect(line.add(1, .event) == .overrun)
    }

    @Test func `a client that takes enough is not slow, and holds who sends more than it takes`() {
        var line = Line()
        for _ in 0..<20 { #expect(line.add(100, .event) == .kept) }
        for _ in 0..<5 {
            line.take(10)
            for _ in 0..<10 { #expect(line.add(100, .event) == .kept) }
            #expect(line.held == [1])
            line.pass(.seconds(10))
        }
        #expect(line.held == [1] && line.add(10_000, .event) == .refused)
    }

    @Test func `who sends less than the slowest rate is never held`() {
        var line = Line()
        #expect(line.add(100, .event) == .kept)
        for _ in 0..<19 {
            line.pass(.seconds(1))
            #expect(line.add(100, .event) == .kept && line.held.isEmpty)
        }
        line.pass(.seconds(1))
        // It takes nothing at all, and is cut off when half of its queue is full of events.
        #expect(line.add(100, .event) == .overrun)
    }

    @Test func `a client that catches up is not slow any more`() {
        var line = Line()
        #expect(line.add(1500) == .kept)
        line.pass(.seconds(10))
        line.take(1)
        #expect(line.add(1500) == .kept && line.held == [1])
    }

    @Test func `a client is cut off for what it asked for itself and does not take, whatever others make wait`() {
        var line = Line()
        #expect(line.add(2000) == .kept && line.add(2000, by: 2) == .kept)
        #expect(line.add(4000, .own, by: 9) == .kept && line.add(1, .own, by: nil) == .overrun)
    }

    @Test func `when nothing is sent to a client any more nobody is held for it`() {
        var line = Line()
        #expect(line.add(1500) == .kept && line.add(900, by: 2) == .kept && line.held == [1, 2])
        line.clear()
        #expect(line.held.isEmpty && line.backlog.deadline == nil && line.add(1000) == .kept && line.held.isEmpty)
    }
}
