import MachineCore
import Testing

@testable import WAMPCore

/// What waits for one client, and who is held for it.
@Suite struct BacklogTests {
    /// A client's backlog of 4,000 bytes at 100 bytes a second: one other may make 1,000 bytes wait, a look takes ten seconds, and others
    /// wait for a client that takes 400 bytes a second for as long as it likes.
    private struct Line {
        var backlog = Backlog(Backlog.Bounds(waiting: 4000, slowest: 100))
        var now = Moment.start
        private(set) var held: Set<UInt64> = []
        private var waiting: [Backlog.Load] = []

        mutating func add(
            _ bytes: Int, _ kind: Backlog.Kind = .exchange, by cause: UInt64? = 1, isCrowded: Bool = false
        ) -> Backlog.Verdict {
            let load = Backlog.Load(bytes: bytes, kind: kind, cause: cause.map { RouterConnection($0) })
            var effects: [Backlog.Effect] = []
            let verdict = backlog.add(load, isCrowded: isCrowded, at: now, into: &effects)
            if verdict == .kept { waiting.append(load) }
            note(effects)
            return verdict
        }

        /// The client takes so many of the messages that wait.
        mutating func take(_ count: Int) {
            for load in waiting.prefix(count) {
                var effects: [Backlog.Effect] = []
                backlog.remove(load, at: now, into: &effects)
                note(effects)
            }
            waiting.removeFirst(min(count, waiting.count))
        }

        mutating func clear() {
            var effects: [Backlog.Effect] = []
            backlog.clear(at: now, into: &effects)
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

    @Test func `where there is little room in all, who makes a little wait is held until that is taken`() {
        var line = Line()
        #expect(line.add(10, isCrowded: true) == .kept && line.held == [1])
        line.take(1)
        #expect(line.held.isEmpty && line.add(10) == .kept && line.held.isEmpty)
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
        #expect(line.add(990, by: 2) == .kept && line.held == [1])
        #expect(line.add(1, by: 2) == .kept && line.held == [1, 2])
        // Twenty share half of what may wait.
        for other in UInt64(3)...20 { #expect(line.add(50, by: other) == .kept) }
        #expect(line.held == [1, 2])
        // All others were there first, and had more.
        #expect(line.add(51, by: 20) == .kept && line.held == [1, 2, 20])
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

    @Test func `who is held late for a client that takes too little is not held for as long as one who was early`() {
        var line = Line()
        #expect(line.add(100) == .kept)
        line.pass(.seconds(5))
        #expect(line.add(1500) == .kept && line.held == [1])
        line.pass(.seconds(5))
        #expect(line.held.isEmpty)
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
        for _ in 0..<50 {
            line.pass(.seconds(2))
            line.take(8)
            for _ in 0..<8 { #expect(line.add(100, .event) == .kept) }
            #expect(line.held == [1])
        }
        #expect(line.held == [1] && line.add(10_000, .event) == .refused)
    }

    @Test func `a client that takes little, but not too little, holds others for a while, and is not cut off`() {
        var line = Line()
        for _ in 0..<20 { #expect(line.add(100, .event) == .kept) }
        // It earns a quarter of what it spends.
        for second in 1...20 {
            line.take(1)
            #expect(line.add(100, .event) == .kept)
            line.pass(.seconds(1))
            #expect(line.held == (second <= 12 ? [1] : []), "after \(second) s")
        }
        #expect(line.add(2000, .event) == .refused)
    }

    @Test func `a client that stalls and catches up by turns holds others for a few seconds a minute`() {
        var line = Line()
        var total: Duration = .zero
        for _ in 0..<600 {
            // A flood as far as one may: then a stall of nearly as long as one is looked at, and all is taken at once.
            while line.held.isEmpty, line.add(200, .event) == .kept {}
            for _ in 0..<9 {
                if !line.held.isEmpty { total += .seconds(1) }
                line.pass(.seconds(1))
            }
            line.take(100)
            #expect(line.held.isEmpty)
        }
        // 90 minutes: an allowance of ten seconds, a sixteenth of the time, and what is rounded up to a second.
        #expect(total > .seconds(300) && total < .seconds(420))
    }

    @Test func `an allowance that was spent holds nobody until half of it has grown back, though nothing waits any more`() {
        var line = Line()
        #expect(line.add(1500) == .kept && line.held == [1])
        line.pass(.seconds(10))
        #expect(line.held.isEmpty)
        line.clear()
        #expect(line.add(1500) == .kept && line.held.isEmpty)
        line.take(1)
        // A sixteenth of the time.
        line.pass(.seconds(79))
        #expect(line.add(1500) == .kept && line.held.isEmpty)
        line.take(1)
        line.pass(.seconds(2))
        #expect(line.add(1500) == .kept && line.held == [1] && line.backlog.deadline.map { $0 - line.now < .seconds(6) } == true)
    }

    @Test func `what others sent does not pay for the delay of those who are held`() {
        var line = Line()
        for _ in 0..<9 { #expect(line.add(190, by: nil) == .kept) }
        #expect(line.add(1500) == .kept && line.held == [1])
        for _ in 0..<9 {
            line.pass(.seconds(1))
            line.take(1)
        }
        line.pass(.seconds(1))
        #expect(line.held.isEmpty)
    }

    @Test(arguments: [1, 2, 3, 16, 64, 200]) func `many publishers share a brisk client evenly, and none is refused`(_ count: Int) {
        var line = Line()
        var sent: [UInt64: Int] = [:]
        for _ in 0..<1000 {
            for other in UInt64(1)...UInt64(count) {
                // Each goes on until it is held.
                while !line.held.contains(other) {
                    guard line.add(4, .event, by: other) == .kept else { return #expect(Bool(false), "refused") }
                    sent[other, default: 0] += 4
                }
            }
            line.pass(.milliseconds(100))
            line.take(20)
        }
        // 80,000 bytes were taken.
        let (least, most) = (sent.values.min() ?? 0, sent.values.max() ?? 0)
        #expect(sent.count == count && least > 80_000 / count / 2 && most < 80_000 / count * 2 + 1000, "\(least) to \(most)")
    }

    @Test func `who finds three quarters of a queue full is held for little, and not refused`() {
        var line = Line()
        #expect(line.add(1500, by: 2) == .kept && line.add(1490, by: 3) == .kept)
        #expect(line.add(10) == .kept && line.held == [2, 3])
        #expect(line.add(1) == .kept && line.held == [1, 2, 3])
        line.take(3)
        #expect(line.held.isEmpty)
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
        line.pass(.seconds(80))
        #expect(line.add(1500) == .kept && line.held == [1])
    }

    @Test func `a client is cut off for what it asked for itself and does not take, whatever others make wait`() {
        var line = Line()
        #expect(line.add(2000) == .kept && line.add(2000, by: 2) == .kept)
        #expect(line.add(4000, .own, by: 9) == .kept && line.add(1, .own, by: nil) == .overrun)
    }

    @Test func `when nothing is sent to a client any more nobody is held for it`() {
        var line = Line()
        #expect(line.add(1500) == .kept && line.add(1001, by: 2) == .kept && line.held == [1, 2])
        line.clear()
        #expect(line.held.isEmpty && line.backlog.deadline == nil && line.add(1000) == .kept && line.held.isEmpty)
    }
}
