import MachineCore
import SessionCore
import Testing
import WebSocketCore

@Suite struct OutboxMachineTests {
    private typealias Outbox = OutboxMachine<Int>

    /// An outbox and the time.
    private struct World {
        var outbox: Outbox
        var now = Moment.start
        /// The id of each serial number.
        var ids: [UInt64: Int] = [:]

        init(_ policy: OutboxPolicy = OutboxPolicy(), stored: [Int] = []) {
            outbox = Outbox(policy, stored: stored.map { (UInt64($0), $0, .text("\($0)")) })
            for id in stored { ids[UInt64(id)] = id }
        }

        mutating func apply(_ input: Outbox.Input) -> [Outbox.Effect] {
            var effects: [Outbox.Effect] = []
            outbox.handle(input, at: now, into: &effects)
            if case .add(let id, _) = input, case .accepted(let serial)? = effects.first { ids[serial] = id }
            return effects
        }

        /// Adds a message that is not stored yet.
        mutating func add(_ id: Int) -> UInt64? {
            guard case .accepted(let serial)? = apply(.add(id, .text("\(id)"))).first else { return nil }
            return serial
        }

        mutating func addStored(_ ids: Int...) {
            for id in ids { if let serial = add(id) { _ = apply(.stored(serial)) } }
        }

        /// Sends all messages that may be sent now, and gives this answer for each.
        mutating func sent(_ answer: (UInt64) -> Outbox.Input = { .sent($0) }) -> [Int] {
            var sent: [Int] = []
            while case .send(let serial, _)? = apply(.take).last {
                sent.append(ids[serial] ?? 0)
                _ = apply(answer(serial))
            }
            return sent
        }

        mutating func pass(_ time: Duration) {
            now = now + time
            var effects: [Outbox.Effect] = []
            outbox.wake(at: now, into: &effects)
        }

        /// The outcomes that this input causes.
        mutating func outcomes(_ input: Outbox.Input) -> [Int: OutboxOutcome] {
            var outcomes: [Int: OutboxOutcome] = [:]
            for case .ended(_, let id, let outcome) in apply(input) { outcomes[id] = outcome }
            return outcomes
        }
    }

    @Test func `messages are sent once in order, and unacknowledged ones again on the next connection`() {
        var world = World()
        world.addStored(1, 2, 3)
        #expect(world.sent() == [1, 2, 3] && world.sent() == [])
        #expect(world.outcomes(.answered(.acknowledged(2))) == [2: .acknowledged])
        _ = world.apply(.connected)
        #expect(world.sent() == [1, 3])
    }

    @Test func `messages of an earlier run are sent first`() {
        var world = World(stored: [4, 7])
        world.addStored(8)
        #expect(world.sent() == [4, 7, 8] && world.outbox.messages.map(\.id) == [4, 7, 8])
    }

    @Test func `a message that is not stored yet delays later ones, and a message that cannot be stored is removed`() {
        var world = World()
        let first = world.add(1) ?? 0
        world.addStored(2)
        #expect(world.sent() == [])
        _ = world.apply(.unstored(first))
        #expect(world.sent() == [2] && !world.outbox.contains(1) && world.outbox.volume == SendVolume(count: 1, bytes: 1))
    }

    @Test func `the capacity counts messages and bytes, and an id is accepted once`() {
        var world = World(OutboxPolicy(capacity: SendVolume(count: 2, bytes: 10)))
        world.addStored(1)
        #expect(world.apply(.add(1, .text("other"))).contains { if case .duplicate = $0 { true } else { false } })
        #expect(world.apply(.add(2, .text("ten letters"))).contains { if case .full = $0 { true } else { false } })
        world.addStored(3)
        #expect(world.apply(.add(4, .text(""))).contains { if case .full = $0 { true } else { false } })
        #expect(world.sent() == [1, 3])
        _ = world.apply(.answered(.acknowledged(1)))
        world.addStored(4)
        #expect(world.outbox.messages.map(\.id) == [3, 4])
    }

    @Test func `the window limits the messages in flight`() {
        var world = World(OutboxPolicy(window: 2))
        world.addStored(1, 2, 3, 4)
        #expect(world.sent() == [1, 2])
        _ = world.apply(.answered(.acknowledged(2)))
        #expect(world.sent() == [3])
        _ = world.apply(.withdraw(1))
        #expect(world.sent() == [4])
    }

    @Test func `an unacknowledged message is sent again, each time after twice the wait, up to 16 times`() {
        var world = World(OutboxPolicy(resendAfter: .seconds(1)))
        world.addStored(1)
        var waits: [Duration] = []
        for _ in 0..<7 {
            #expect(world.sent() == [1])
            let wait = (world.outbox.deadline ?? world.now) - world.now
            waits.append(wait)
            world.pass(wait - .nanoseconds(1))
            #expect(world.sent() == [])
            world.pass(.nanoseconds(1))
        }
        #expect(waits == [1, 2, 4, 8, 16, 16, 16].map { .seconds($0) })
    }

    @Test func `a message is given up after its last attempt, and the next message is sent`() {
        var world = World(OutboxPolicy(window: 1, resendAfter: .seconds(1), attempts: 2))
        world.addStored(1, 2)
        #expect(world.sent() == [1])
        world.pass(.seconds(1))
        #expect(world.sent() == [1])
        world.pass(.seconds(2))
        let effects = world.apply(.take)
        #expect(effects.contains { if case .ended(_, 1, .givenUp) = $0 { true } else { false } })
        #expect(effects.contains { if case .send(serial: 2, _) = $0 { true } else { false } })
    }

    @Test func `a send that no connection accepted does not count as an attempt and is repeated later`() {
        var world = World(OutboxPolicy(resendAfter: .seconds(1), attempts: 1))
        world.addStored(1)
        for _ in 0..<3 {
            #expect(world.sent { .unsent($0) } == [1])
            _ = world.apply(.connected)
        }
        #expect(world.sent { .unsent($0) } == [1] && world.sent() == [])
        world.pass(.seconds(1))
        #expect(world.sent() == [1])
        _ = world.apply(.connected)
        #expect(world.apply(.take).contains { if case .ended(_, 1, .givenUp) = $0 { true } else { false } })
    }

    @Test func `a message that is still being sent is not sent again`() {
        var world = World(OutboxPolicy(resendAfter: .seconds(1)))
        world.addStored(1, 2)
        guard case .send(let serial, _)? = world.apply(.take).first else { return #expect(Bool(false), "no message was sent") }
        world.pass(.seconds(60))
        #expect(world.outbox.deadline == nil && world.sent() == [2])
        _ = world.apply(.sent(serial))
        #expect(world.outbox.deadline == world.now + .seconds(1), "the timer starts now")
    }

    @Test func `only the message that no connection can send ends`() {
        var world = World()
        world.addStored(1, 2)
        guard case .send(let serial, _)? = world.apply(.take).first else { return #expect(Bool(false), "no message was sent") }
        _ = world.apply(.withdraw(1))
        world.addStored(1)
        #expect(world.outcomes(.unsendable(serial, reason: "too long")) == [:], "the id now belongs to another message")
        #expect(world.sent { .unsendable($0, reason: "too long") } == [2, 1] && world.outbox.isEmpty)
    }

    @Test func `a reused id names the later message`() {
        var world = World()
        let first = world.add(1) ?? 0
        _ = world.apply(.withdraw(1))
        let second = world.add(1) ?? 0
        _ = world.apply(.stored(first))
        #expect(world.sent() == [] && !world.outbox.contains(serial: first), "the later message is not stored yet")
        _ = world.apply(.unstored(first))
        #expect(world.outbox.contains(serial: second))
        _ = world.apply(.stored(second))
        for answer in [OutboxAnswer.acknowledged(1), .refused(1, reason: "rude"), .acknowledgedThrough(1)] {
            #expect(world.outcomes(.answered(answer)) == [:], "the answer is for the earlier message, because the later one was not sent")
        }
        #expect(world.sent() == [1] && world.outcomes(.answered(.acknowledged(1))) == [1: .acknowledged])
    }

    @Test func `an answer may cover all messages up to one, but only those that were sent`() {
        var world = World(OutboxPolicy(window: 3))
        world.addStored(1, 2, 3, 4)
        #expect(world.sent() == [1, 2, 3])
        #expect(world.outcomes(.answered(.acknowledgedThrough(2))) == [1: .acknowledged, 2: .acknowledged])
        #expect(world.outcomes(.answered(.acknowledgedThrough(4))) == [3: .acknowledged])
        #expect(world.sent() == [4])
        #expect(world.outcomes(.answered(.refused(4, reason: "too rude"))) == [4: .refused(reason: "too rude")])
        #expect(world.outcomes(.answered(.acknowledged(4))) == [:] && world.outbox.isEmpty)
    }

    @Test(arguments: 0..<200 as Range<UInt64>) func `in random sequences of events the outbox keeps its invariants`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let policy = OutboxPolicy(
            capacity: SendVolume(count: 8, bytes: 100), window: 3, resendAfter: .seconds(2), attempts: seed % 2 == 0 ? nil : 3)
        var world = World(policy)
        // Each id is used once here, so ids equal serial numbers.
        var (next, stored, open, ended, last) = (1, Set<Int>(), [Int](), Set<Int>(), 0)
        var (newestSent, sent) = (0, Set<Int>())
        for _ in 0..<400 {
            let some = open.randomElement(using: &random) ?? 0
            let input: Outbox.Input =
                switch Int.random(in: 0..<14, using: &random) {
                case 0...2: .add(next, .text(String(repeating: "x", count: .random(in: 0...20, using: &random))))
                case 3, 4: .stored(UInt64(some))
                case 5: stored.contains(some) ? .take : .unstored(UInt64(some))
                case 6: .answered(.acknowledged(some))
                case 7: .answered(Bool.random(using: &random) ? .acknowledgedThrough(some) : .refused(some, reason: ""))
                case 8: .connected
                case 9: Bool.random(using: &random) ? .withdraw(some) : .take
                case 10: .unsent(UInt64(newestSent))
                case 11: .sent(UInt64(newestSent))
                default: .take
                }
            if case .stored(let id) = input, open.contains(Int(id)) { stored.insert(Int(id)) }
            if case .connected = input { last = 0 }
            if Int.random(in: 0..<4, using: &random) == 0 {
                let before = world.outbox.deadline
                world.pass(.seconds(1))
                // A message sent again may have a smaller id than one sent for the first time.
                if before.map({ $0 <= world.now }) ?? false { last = 0 }
            }
            for effect in world.apply(input) {
                switch effect {
                case .accepted:
                    open.append(next)
                    next += 1
                case .send(let serial, _):
                    let id = Int(serial)
                    #expect(stored.contains(id) && open.contains(id) && id > last)
                    (last, newestSent) = (id, id)
                    sent.insert(id)
                case .ended(let serial, let id, let outcome):
                    #expect(ended.insert(id).inserted && open.contains(id) && serial == UInt64(id))
                    #expect(outcome == .withdrawn || sent.contains(id), "a message that was not sent has no answer")
                case .duplicate, .full, .due: break
                }
            }
            if case .unstored(let id) = input { open.removeAll { $0 == Int(id) } }
            open.removeAll { ended.contains($0) }
            #expect(world.outbox.messages.map(\.id) == open)
            #expect(world.outbox.volume.fits(in: policy.capacity))
            #expect(world.outbox.deadline.map { $0 > world.now } ?? true)
        }
    }
}
