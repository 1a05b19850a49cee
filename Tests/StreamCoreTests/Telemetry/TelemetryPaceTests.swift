import HoldfastTesting
import MachineCore
import StreamCore
import Testing

@Suite struct TelemetryThrottleTests {
    /// Feeds these values at these milliseconds.
    ///
    /// Returns what is sent, with the times in milliseconds.
    private func run(_ throttle: inout KeyedThrottle<String, Int>, _ arrivals: [(key: String, value: Int, at: Int)]) -> [String] {
        var (sent, effects) = ([String](), [PacedEffect<String, Int>]())
        func note(_ at: Moment) {
            for case .send(let key, let value) in effects { sent.append("\(key)\(value)@\(at.offset / .milliseconds(1))") }
            effects = []
        }
        for (key, value, time) in arrivals {
            let now = Moment(.milliseconds(time))
            while let deadline = throttle.deadline, deadline < now {
                throttle.wake(at: deadline, into: &effects)
                note(deadline)
            }
            throttle.handle(.value(key, value), at: now, into: &effects)
            note(now)
        }
        while let deadline = throttle.deadline {
            throttle.wake(at: deadline, into: &effects)
            note(deadline)
        }
        return sent
    }
    private let burst = [("a", 1, 0), ("a", 2, 10), ("a", 3, 20), ("a", 4, 130)]

    @Test func `with both edges the first value of a burst is sent at once and the last after the interval`() {
        var throttle = KeyedThrottle<String, Int>(.milliseconds(50))
        #expect(run(&throttle, burst) == ["a1@0.0", "a3@50.0", "a4@130.0"])
        #expect(throttle.superseded == 1 && throttle.keyCount == 0)
    }

    @Test func `with the leading edge no value is sent late`() {
        var throttle = KeyedThrottle<String, Int>(.milliseconds(50), edges: .leading)
        #expect(run(&throttle, burst) == ["a1@0.0", "a4@130.0"])
        #expect(throttle.superseded == 2)
    }

    @Test func `with the trailing edge no value is sent at once`() {
        var throttle = KeyedThrottle<String, Int>(.milliseconds(50), edges: .trailing)
        #expect(run(&throttle, burst) == ["a3@50.0", "a4@180.0"])
    }

    @Test func `keys do not delay each other`() {
        var throttle = KeyedThrottle<String, Int>(.milliseconds(50))
        #expect(run(&throttle, [("a", 1, 0), ("b", 2, 10), ("b", 3, 20), ("a", 4, 30)]) == ["a1@0.0", "b2@10.0", "a4@50.0", "b3@60.0"])
    }

    @Test func `above the key limit the interval that ends first is ended, and its value is sent`() {
        var throttle = KeyedThrottle<String, Int>(.milliseconds(50), keyLimit: 2)
        #expect(run(&throttle, [("a", 1, 0), ("a", 2, 10), ("b", 3, 20), ("c", 4, 30)]) == ["a1@0.0", "b3@20.0", "a2@30.0", "c4@30.0"])
    }

    @Test func `without an interval every value is sent at once`() {
        var throttle = KeyedThrottle<String, Int>(.zero, edges: .trailing)
        #expect(run(&throttle, [("a", 1, 0), ("a", 2, 0)]) == ["a1@0.0", "a2@0.0"])
    }

    @Test func `a flush sends waiting values in the order of their changes, and restarts their intervals`() {
        var throttle = KeyedThrottle<String, Int>(.milliseconds(50), edges: .trailing)
        var effects: [PacedEffect<String, Int>] = []
        for key in ["b", "a", "c"] { throttle.handle(.value(key, 1), at: .start, into: &effects) }
        throttle.handle(.flush, at: .start + .milliseconds(10), into: &effects)
        #expect(effects.map { if case .send(let key, _) = $0 { key } else { "" } } == ["b", "a", "c"])
        #expect(throttle.deadline == .start + .milliseconds(60))
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `in random schedules each key keeps its rate and order, and a burst ends with its last value`(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        let edges = PacedEdges.allCases.randomElement(using: &chance)!
        let interval = Duration.milliseconds(Int.random(in: 1...40, using: &chance))
        var throttle = KeyedThrottle<Int, Int>(interval, edges: edges)
        var (now, effects) = (Moment.start, [PacedEffect<Int, Int>]())
        var (newest, sent, sentAt, count) = ([Int: Int](), [Int: Int](), [Int: Moment](), 0)
        func note() {
            for case .send(let key, let value) in effects {
                #expect(value > sent[key] ?? 0)
                if let last = sentAt[key] { #expect(now - last >= interval) }
                (sent[key], sentAt[key]) = (value, now)
                count += 1
            }
            effects = []
        }
        for value in 1...300 {
            if Bool.random(using: &chance) { now = now + .milliseconds(Int.random(in: 0...30, using: &chance)) }
            if Int.random(in: 0..<4, using: &chance) == 0 {
                throttle.wake(at: now, into: &effects)
                note()
            }
            let key = Int.random(in: 0..<5, using: &chance)
            newest[key] = value
            throttle.handle(.value(key, value), at: now, into: &effects)
            note()
        }
        while let deadline = throttle.deadline {
            now = deadline
            throttle.wake(at: now, into: &effects)
            note()
        }
        if edges != .leading { #expect(sent == newest) }
        #expect(count + throttle.superseded == 300 && throttle.keyCount == 0)
    }
}

@Suite struct TelemetryDebounceTests {
    private func run(_ debounce: inout KeyedDebounce<String, Int>, _ arrivals: [(value: Int, at: Int)]) -> [String] {
        var (sent, effects) = ([String](), [PacedEffect<String, Int>]())
        func note(_ at: Moment) {
            for case .send(_, let value) in effects { sent.append("\(value)@\(at.offset / .milliseconds(1))") }
            effects = []
        }
        func pass(to now: Moment?) {
            while let deadline = debounce.deadline, now.map({ deadline < $0 }) ?? true {
                debounce.wake(at: deadline, into: &effects)
                note(deadline)
            }
        }
        for (value, time) in arrivals {
            let now = Moment(.milliseconds(time))
            pass(to: now)
            debounce.handle(.value("a", value), at: now, into: &effects)
            note(now)
        }
        pass(to: nil)
        return sent
    }
    private let typing = [(1, 0), (2, 20), (3, 40), (4, 200)]

    @Test func `the last value of a burst is sent after a silence`() {
        var debounce = KeyedDebounce<String, Int>(.milliseconds(50))
        #expect(run(&debounce, typing) == ["3@90.0", "4@250.0"])
        #expect(debounce.superseded == 2 && debounce.keyCount == 0)
    }

    @Test func `with the leading edge the first value of a burst is sent at once`() {
        var debounce = KeyedDebounce<String, Int>(.milliseconds(50), edges: .leading)
        #expect(run(&debounce, typing) == ["1@0.0", "4@200.0"])
        debounce = KeyedDebounce<String, Int>(.milliseconds(50), edges: .both)
        #expect(run(&debounce, typing) == ["1@0.0", "3@90.0", "4@200.0"])
    }

    @Test func `an endless burst is sent after the longest wait`() {
        var debounce = KeyedDebounce<String, Int>(.milliseconds(50), longestWait: .milliseconds(100))
        #expect(run(&debounce, (0...12).map { ($0, $0 * 20) }) == ["4@100.0", "9@200.0", "12@290.0"])
    }

    @Test func `after the longest wait the next value is not the first of a burst`() {
        var debounce = KeyedDebounce<String, Int>(.milliseconds(50), longestWait: .milliseconds(60), edges: .both)
        #expect(run(&debounce, [(1, 0), (2, 30), (3, 60), (4, 85), (5, 100)]) == ["1@0.0", "4@90.0", "5@150.0"])
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `in random schedules no change waits too long, order is kept, and a burst ends with its last value`(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        let edges = [PacedEdges.trailing, .both].randomElement(using: &chance)!
        let (quiet, longest) = (Duration.milliseconds(Int.random(in: 1...40, using: &chance)), Duration.milliseconds(60))
        var debounce = KeyedDebounce<Int, Int>(quiet, longestWait: longest, edges: edges, keyLimit: 3)
        var (now, effects) = (Moment.start, [PacedEffect<Int, Int>]())
        var (newest, sent, count, changedAt) = ([Int: Int](), [Int: Int](), 0, [Int: Moment]())
        func note() {
            for case .send(let key, let value) in effects {
                #expect(value > sent[key] ?? 0)
                if let change = changedAt.removeValue(forKey: key) { #expect(now - change <= longest) }
                sent[key] = value
                count += 1
            }
            effects = []
        }
        func pass(to end: Moment?) {
            while let deadline = debounce.deadline, end.map({ deadline <= $0 }) ?? true {
                now = max(deadline, now)
                debounce.wake(at: now, into: &effects)
                note()
            }
            if let end { now = end }
        }
        for value in 1...300 {
            pass(to: now + .milliseconds(Int.random(in: 0...12, using: &chance)))
            let key = Int.random(in: 0..<4, using: &chance)
            newest[key] = value
            if changedAt[key] == nil { changedAt[key] = now }
            debounce.handle(.value(key, value), at: now, into: &effects)
            note()
            #expect(debounce.keyCount <= 3)
        }
        pass(to: nil)
        #expect(sent == newest)
        #expect(count + debounce.superseded == 300 && debounce.keyCount == 0)
    }

    @Test func `in every sequence for two keys the newest value of each is sent or waits`() throws {
        struct Audited: Machine, Hashable {
            var debounce = KeyedDebounce<Int, Int>(.seconds(2), longestWait: .seconds(3), edges: .both, keyLimit: 1)
            var value = 0
            var open: [Int: Int] = [:]
            var deadline: Moment? { debounce.deadline }

            mutating func handle(_ key: Int, at now: Moment, into effects: inout [PacedEffect<Int, Int>]) {
                value += 1
                open[key] = value
                debounce.handle(.value(key, value), at: now, into: &effects)
                settle(effects)
            }

            mutating func wake(at now: Moment, into effects: inout [PacedEffect<Int, Int>]) {
                debounce.wake(at: now, into: &effects)
                settle(effects)
            }

            private mutating func settle(_ effects: [PacedEffect<Int, Int>]) {
                for case .send(let key, let value) in effects where open[key] == value { open[key] = nil }
            }
        }
        let states = try explore(Audited(), inputs: [1, 2], depth: 8) { step in
            try #require(step.after.open.count <= step.after.debounce.keyCount, "\(step)")
            try #require(step.after.debounce.keyCount <= 1, "\(step)")
        }
        #expect(states > 100)
    }
}
