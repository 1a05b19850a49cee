import MachineCore
import Testing

@testable import WAMPCore

/// The outbound queue of one client, and the senders that are paused because of it.
@Suite struct BacklogTests {
    /// A queue of 4,000 bytes for a client that must take 100 bytes a second.
    ///
    /// One sender may queue 1,000 bytes before it is paused. The client's rate is checked after ten seconds.
    /// At 400 bytes a second and more, senders may be paused without limit.
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

        /// The client takes this many queued messages.
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

    @Test func `where memory is short, a sender is paused until its small message has been taken`() {
        var line = Line()
        #expect(line.add(10, isCrowded: true) == .kept && line.held == [1])
        line.take(1)
        #expect(line.held.isEmpty && line.add(10) == .kept && line.held.isEmpty)
    }

    @Test func `a sender that fills the queue is paused until the client has taken half of its share`() {
        var line = Line()
        #expect(line.add(1000) == .kept && line.held.isEmpty && line.backlog.deadline == nil)
        #expect(line.add(1) == .kept && line.held == [1] && line.backlog.deadline == Moment(.seconds(10)))
        #expect(line.add(400) == .kept && line.held == [1])
        line.take(1)
        #expect(line.held.isEmpty)
        line.take(2)
        #expect(line.backlog.deadline == nil)
    }

    @Test func `a sender is paused only for its own bytes, and many senders share half of the queue`() {
        var line = Line()
        #expect(line.add(1001) == .kept && line.add(10, by: 2) == .kept && line.held == [1])
        #expect(line.add(990, by: 2) == .kept && line.held == [1])
        #expect(line.add(1, by: 2) == .kept && line.held == [1, 2])
        // Twenty senders share half of the queue.
        for other in UInt64(3)...20 { #expect(line.add(50, by: other) == .kept) }
        #expect(line.held == [1, 2])
        // The earlier senders joined when the shares were larger.
        #expect(line.add(51, by: 20) == .kept && line.held == [1, 2, 20])
    }

    @Test func `one sender may fill half of the queue, all together the whole, and more is refused`() {
        var line = Line()
        #expect(line.add(1999) == .kept && line.add(2) == .refused && line.add(1) == .kept)
        #expect(line.add(1999, by: 2) == .kept && line.add(2, by: 3) == .refused && line.add(1, by: 3) == .kept)
        line.take(1)
        #expect(line.add(1000, by: 3) == .kept)
    }

    @Test func `a long message is queued alone, and other senders are refused meanwhile`() {
        var line = Line()
        #expect(line.add(1000, by: 2) == .kept && line.add(100_000) == .kept && line.held == [1])
        #expect(line.add(1, by: 2) == .refused && line.add(1, by: 3) == .refused)
        line.take(2)
        #expect(line.held.isEmpty && line.add(1, by: 2) == .kept)
    }

    @Test func `a client that takes too little pauses no sender any longer, and calls do not cut it off`() {
        var line = Line()
        #expect(line.add(1500) == .kept && line.held == [1])
        line.pass(.seconds(9))
        #expect(line.held == [1])
        line.pass(.seconds(1))
        #expect(line.held.isEmpty && line.backlog.deadline == nil)
        #expect(line.add(500) == .kept && line.held.isEmpty)
        for other in UInt64(1)..<10 { #expect(line.add(2001, by: other) == .refused) }
        // Nor do events of other senders that find no room cut it off.
        #expect(line.add(2000, by: 2) == .kept && line.add(1, .event, by: 3) == .refused)
    }

    @Test func `a sender that is paused late for a slow client is paused for a shorter time`() {
        var line = Line()
        #expect(line.add(100) == .kept)
        line.pass(.seconds(5))
        #expect(line.add(1500) == .kept && line.held == [1])
        line.pass(.seconds(5))
        #expect(line.held.isEmpty)
    }

    @Test func `a client that is below the lowest rate is cut off for events, but only after the check`() {
        var line = Line()
        #expect(line.add(2000, .event) == .kept && line.add(1, .event) == .refused)
        line.pass(.seconds(10))
        #expect(line.add(1, .event) == .overrun)
    }

    @Test func `a client with a sufficient rate is not slow and pauses a sender that exceeds it`() {
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

    @Test func `a client with a low but sufficient rate pauses senders for a while and is not cut off`() {
        var line = Line()
        for _ in 0..<20 { #expect(line.add(100, .event) == .kept) }
        // It earns a quarter of the pause that it uses.
        for second in 1...20 {
            line.take(1)
            #expect(line.add(100, .event) == .kept)
            line.pass(.seconds(1))
            #expect(line.held == (second <= 12 ? [1] : []), "after \(second) s")
        }
        #expect(line.add(2000, .event) == .refused)
    }

    @Test func `a client that alternates between stalls and bursts pauses senders for a few seconds a minute`() {
        var line = Line()
        var total: Duration = .zero
        for _ in 0..<600 {
            // Senders flood the queue. The client stalls for almost the length of a check, then takes everything at once.
            while line.held.isEmpty, line.add(200, .event) == .kept {}
            for _ in 0..<9 {
                if !line.held.isEmpty { total += .seconds(1) }
                line.pass(.seconds(1))
            }
            line.take(100)
            #expect(line.held.isEmpty)
        }
        // 90 minutes: the allowance of ten seconds, a sixteenth of the time, and the rounding up to seconds.
        #expect(total > .seconds(300) && total < .seconds(420))
    }

    @Test func `a used allowance pauses no sender until half of it is restored, even with an empty queue`() {
        var line = Line()
        #expect(line.add(1500) == .kept && line.held == [1])
        line.pass(.seconds(10))
        #expect(line.held.isEmpty)
        line.clear()
        #expect(line.add(1500) == .kept && line.held.isEmpty)
        line.take(1)
        // The allowance grows by a sixteenth of the time.
        line.pass(.seconds(79))
        #expect(line.add(1500) == .kept && line.held.isEmpty)
        line.take(1)
        line.pass(.seconds(2))
        #expect(line.add(1500) == .kept && line.held == [1] && line.backlog.deadline.map { $0 - line.now < .seconds(6) } == true)
    }

    @Test func `taking the bytes of one sender does not extend the pause of another`() {
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

    @Test(arguments: [1, 2, 3, 16, 64, 200]) func `many publishers share a fast client evenly, and none is refused`(_ count: Int) {
        var line = Line()
        var sent: [UInt64: Int] = [:]
        for _ in 0..<1000 {
            for other in UInt64(1)...UInt64(count) {
                // Each publishes until it is paused.
                while !line.held.contains(other) {
                    guard line.add(4, .event, by: other) == .kept else { return #expect(Bool(false), "refused") }
                    sent[other, default: 0] += 4
                }
            }
            line.pass(.milliseconds(100))
            line.take(20)
        }
        // The client has taken 80,000 bytes.
        let (least, most) = (sent.values.min() ?? 0, sent.values.max() ?? 0)
        #expect(sent.count == count && least > 80_000 / count / 2 && most < 80_000 / count * 2 + 1000, "\(least) to \(most)")
    }

    @Test func `a sender that finds three quarters of the queue full is paused early and not refused`() {
        var line = Line()
        #expect(line.add(1500, by: 2) == .kept && line.add(1490, by: 3) == .kept)
        #expect(line.add(10) == .kept && line.held == [2, 3])
        #expect(line.add(1) == .kept && line.held == [1, 2, 3])
        line.take(3)
        #expect(line.held.isEmpty)
    }

    @Test func `a sender below the lowest rate is never paused`() {
        var line = Line()
        #expect(line.add(100, .event) == .kept)
        for _ in 0..<19 {
            line.pass(.seconds(1))
            #expect(line.add(100, .event) == .kept && line.held.isEmpty)
        }
        line.pass(.seconds(1))
        // The client takes nothing and is cut off when events fill half of its queue.
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

    @Test func `a client is cut off for untaken answers to its own requests, whatever others have queued`() {
        var line = Line()
        #expect(line.add(2000) == .kept && line.add(2000, by: 2) == .kept)
        #expect(line.add(4000, .own, by: 9) == .kept && line.add(1, .own, by: nil) == .overrun)
    }

    @Test func `clearing the queue resumes all senders`() {
        var line = Line()
        #expect(line.add(1500) == .kept && line.add(1001, by: 2) == .kept && line.held == [1, 2])
        line.clear()
        #expect(line.held.isEmpty && line.backlog.deadline == nil && line.add(1000) == .kept && line.held.isEmpty)
    }
}
