import HoldfastTesting
import MachineCore
import ProtocolCore
import Testing

@Suite struct StandingRequestsTests {
    private static let backoff = Backoff(base: .seconds(1), cap: .seconds(4), jitter: .proportional(0))
    private var requests = StandingRequests<String>(patience: .seconds(5), backoff: backoff, seed: 1)
    private func after(_ seconds: Int) -> Moment { Moment(.seconds(seconds)) }

    @Test mutating func `requests before the connection are sent in order when it opens`() {
        #expect(requests.want("b", at: .start) == nil && requests.want("a", at: .start) == nil)
        #expect(requests.open(at: .start) == [.ask("b"), .ask("a")])
        #expect(requests.wanted == ["b", "a"] && !requests.isGranted("a"))
        #expect(requests.granted("a") == nil && requests.isGranted("a"))
    }

    @Test mutating func `requests are sent again on the next connection`() {
        _ = requests.open(at: .start)
        #expect(requests.want("a", at: .start) == .ask("a"))
        _ = requests.granted("a")
        requests.lose()
        #expect(!requests.isGranted("a") && requests.isWanted("a"))
        #expect(requests.open(at: after(1)) == [.ask("a")])
    }

    @Test mutating func `a granted request is withdrawn when dropped, and a pending one when it is granted`() {
        _ = requests.open(at: .start)
        _ = requests.want("a", at: .start)
        _ = requests.want("b", at: .start)
        _ = requests.granted("a")
        #expect(requests.drop("a") == .withdraw("a"))
        #expect(requests.drop("b") == nil && requests.wanted == [])
        #expect(requests.granted("b") == .withdraw("b"))
        #expect(requests.open(at: .start) == [])
    }

    @Test mutating func `a request wanted again before its answer is sent once`() {
        _ = requests.open(at: .start)
        _ = requests.want("a", at: .start)
        _ = requests.drop("a")
        #expect(requests.want("a", at: .start) == nil)
        #expect(requests.granted("a") == nil && requests.isGranted("a"))
    }

    @Test mutating func `a loss forgets a request that was dropped before its answer`() {
        _ = requests.open(at: .start)
        _ = requests.want("a", at: .start)
        _ = requests.drop("a")
        requests.lose()
        #expect(requests.open(at: .start) == [])
    }

    @Test mutating func `a temporary refusal is followed by a retry after a growing pause`() {
        _ = requests.open(at: .start)
        _ = requests.want("a", at: .start)
        #expect(requests.refused("a", forGood: false, at: .start) == true)
        #expect(requests.wake(at: .start) == [] && requests.deadline == after(1))
        #expect(requests.want("b", at: .start) == .ask("b") && requests.deadline == after(1), "the earliest deadline counts")
        #expect(requests.granted("b") == nil)
        #expect(requests.wake(at: after(1)) == [.ask("a")])
        #expect(requests.refused("a", forGood: false, at: after(1)) == true)
        #expect(requests.deadline == after(3))
        #expect(requests.wake(at: after(3)) == [.ask("a")])
        _ = requests.granted("a")
        #expect(requests.wake(at: after(9)) == [] && requests.deadline == nil)
        #expect(requests.refused("a", forGood: false, at: after(9)) && requests.deadline == after(10))
    }

    @Test mutating func `a permanent refusal ends the request, and a dropped request is not reported`() {
        _ = requests.open(at: .start)
        _ = requests.want("a", at: .start)
        _ = requests.want("b", at: .start)
        _ = requests.drop("b")
        #expect(requests.refused("a", forGood: true, at: .start) && !requests.isWanted("a"))
        #expect(!requests.refused("b", forGood: true, at: .start) && !requests.refused("c", forGood: true, at: .start))
        _ = requests.want("b", at: .start)
        _ = requests.drop("b")
        #expect(!requests.refused("b", forGood: false, at: .start) && requests.wake(at: after(99)) == [])
    }

    @Test mutating func `a missing answer is reported once, and a late one still counts`() {
        _ = requests.open(at: .start)
        _ = requests.want("a", at: .start)
        #expect(requests.deadline == after(5) && requests.wake(at: after(4)) == [])
        #expect(requests.wake(at: after(5)) == [.unanswered("a")])
        #expect(requests.deadline == nil && requests.wake(at: after(99)) == [])
        #expect(requests.granted("a") == nil && requests.isGranted("a"))
    }

    @Test mutating func `without a connection no deadline exists`() {
        _ = requests.open(at: .start)
        _ = requests.want("a", at: .start)
        requests.lose()
        #expect(requests.deadline == nil && requests.wake(at: after(99)) == [])
    }

    @Test mutating func `an unwanted grant is withdrawn, and a repeated one is ignored`() {
        _ = requests.open(at: .start)
        #expect(requests.granted("a") == .withdraw("a") && requests.drop("a") == nil && requests.wanted == [])
        _ = requests.want("b", at: .start)
        #expect(requests.granted("b") == nil && requests.granted("b") == nil && requests.isGranted("b"))
    }

    @Test mutating func `a grant after a refusal counts`() {
        _ = requests.open(at: .start)
        _ = requests.want("a", at: .start)
        #expect(requests.refused("a", forGood: false, at: .start) && requests.granted("a") == nil && requests.isGranted("a"))
        #expect(requests.wake(at: after(99)) == [])
    }

    @Test mutating func `without a connection grants and temporary refusals are ignored`() {
        _ = requests.want("a", at: .start)
        #expect(requests.granted("a") == nil && !requests.isGranted("a"))
        #expect(requests.refused("a", forGood: false, at: .start) && requests.deadline == nil)
        #expect(requests.open(at: after(1)) == [.ask("a")])
    }

    @Test mutating func `while reading is paused no answer is late, and then the full timeout applies`() {
        _ = requests.open(at: .start)
        _ = requests.want("a", at: .start)
        requests.pause()
        #expect(requests.deadline == nil && requests.wake(at: after(99)) == [])
        requests.resume(at: after(100))
        #expect(requests.deadline == after(105) && requests.wake(at: after(105)) == [.unanswered("a")])
        requests.pause()
        requests.lose()
        #expect(requests.open(at: after(200)) == [.ask("a")] && requests.deadline == after(205))
    }

    /// A peer grants and refuses at random.
    ///
    /// At the end it grants all, and both sides must agree.
    @Test(arguments: 1...UInt64(100)) func `in the end the peer has granted exactly the wanted requests`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var requests = StandingRequests<Int>(patience: .seconds(5), backoff: Self.backoff, seed: seed)
        var (asked, granted, now) = ([Int](), Set<Int>(), Moment.start)
        func take(_ steps: [StandingRequests<Int>.Step]) {
            for step in steps {
                switch step {
                case .ask(let key):
                    #expect(!asked.contains(key) && !granted.contains(key), "at most one request per key is pending")
                    asked.append(key)
                case .withdraw(let key): #expect(granted.remove(key) != nil, "only granted requests are withdrawn")
                case .unanswered(let key): #expect(asked.contains(key))
                }
            }
        }
        func grant(_ key: Int) {
            granted.insert(key)
            take([requests.granted(key)].compactMap(\.self))
        }
        take(requests.open(at: now))
        for _ in 0..<300 {
            now = now + .milliseconds(Int.random(in: 0...900, using: &random))
            let key = Int.random(in: 0..<4, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1: take([requests.want(key, at: now)].compactMap(\.self))
            case 2: take([requests.drop(key)].compactMap(\.self))
            case 3, 4:
                guard !asked.isEmpty else { continue }
                let key = asked.removeFirst()
                if Bool.random(using: &random) { grant(key) } else { _ = requests.refused(key, forGood: false, at: now) }
            case 5: take(requests.wake(at: now))
            default:
                requests.lose()
                (asked, granted) = ([], [])
                take(requests.open(at: now))
            }
        }
        for _ in 0..<20 {
            while !asked.isEmpty { grant(asked.removeFirst()) }
            now = now + .seconds(60)
            take(requests.wake(at: now))
        }
        #expect(granted == Set(requests.wanted) && requests.wanted.allSatisfy { requests.isGranted($0) })
    }
}
