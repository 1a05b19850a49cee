import HoldfastTesting
import MachineCore
import Testing
import WebSocketCore

/// RFC 6455 §5.5.2 and §5.5.3.
@Suite struct HeartbeatTests {
    @Test func `a ping is sent after silence, and the connection is dead if the silence continues`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        #expect(heart.wake(at: 19).isEmpty)
        let payload: [UInt8] = [0xAB, 0xCD, 0xEF, 0x01, 0, 0, 0, 1]
        #expect(heart.wake(at: 20) == [.sendPing(payload)])
        #expect(heart.handle(.written(payload), at: 20).isEmpty)
        #expect(heart.machine.deadline == Moment(.seconds(25)))
        #expect(heart.wake(at: 25) == [.dead])
        #expect(heart.machine.deadline == nil)
    }

    @Test func `without an interval there is no automatic ping`() {
        let heart = DrivenHeartbeat(interval: nil)
        #expect(heart.machine.deadline == nil)
    }

    /// A deadline that starts before the ping is written fails on a loaded link.
    @Test func `the deadline starts when the ping is written, not when it is queued`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5), stall: .seconds(60))
        let payload = heart.ping(at: 20)
        #expect(heart.wake(at: 50).isEmpty)
        _ = heart.handle(.written(payload), at: 50)
        #expect(heart.wake(at: 54).isEmpty)
        #expect(heart.wake(at: 55) == [.dead])
    }

    @Test func `a second report that a ping was written does not extend the deadline`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        let payload = heart.ping(at: 20)
        _ = heart.handle(.written(payload), at: 20)
        _ = heart.handle(.written(payload), at: 24)
        #expect(heart.wake(at: 25) == [.dead])
    }

    @Test func `a socket that writes no ping and delivers no byte is dead too`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), stall: .seconds(60))
        _ = heart.ping(at: 20)
        _ = heart.handle(.activity, at: 30)
        #expect(heart.wake(at: 89).isEmpty)
        #expect(heart.wake(at: 90) == [.dead])
    }

    @Test func `any byte after a ping counts as an answer, and a new silence starts`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        let payload = heart.ping(at: 20)
        _ = heart.handle(.written(payload), at: 20)
        _ = heart.handle(.activity, at: 24)
        #expect(heart.wake(at: 43).isEmpty)
        #expect(heart.wake(at: 44).count == 1)
    }

    @Test func `a byte that arrived before the ping was written does not answer it`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        let payload = heart.ping(at: 20)
        _ = heart.handle(.activity, at: 22)
        _ = heart.handle(.written(payload), at: 22)
        #expect(heart.wake(at: 27) == [.dead])
    }

    @Test func `an automatic ping that other traffic answered is replaced by the next`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        let first = heart.ping(at: 20)
        _ = heart.handle(.written(first), at: 20)
        _ = heart.handle(.activity, at: 30)
        let second = heart.ping(at: 50)
        _ = heart.handle(.written(second), at: 50)
        #expect(heart.handle(.pong(second), at: 51) == [.roundTrip(id: nil, .seconds(1))])
    }

    @Test func `traffic from the peer makes automatic pings unnecessary`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        for second in 1...100 {
            _ = heart.handle(.activity, at: second)
            #expect(heart.wake(at: second).isEmpty)
        }
        #expect(heart.machine.deadline == Moment(.seconds(120)))
    }

    /// An app that reads slowly must not be reported that its peer is dead.
    @Test func `no silence is counted while reading is paused`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        let payload = heart.ping(at: 20)
        _ = heart.handle(.written(payload), at: 20)
        _ = heart.handle(.paused, at: 21)
        #expect(heart.machine.deadline == nil)
        #expect(heart.wake(at: 1000).isEmpty)
        _ = heart.handle(.resumed, at: 1000)
        #expect(heart.wake(at: 1019).isEmpty)
        #expect(heart.handle(.pong(payload), at: 1019) == [.roundTrip(id: nil, .seconds(999))])
        #expect(heart.machine.deadline == Moment(.seconds(1039)))
    }

    @Test func `an app's ping is measured from the time it was written`() {
        var heart = DrivenHeartbeat(interval: nil)
        let payload = heart.request(7, at: 1)
        _ = heart.handle(.written(payload), at: 3)
        #expect(heart.handle(.pong(payload), at: 4) == [.roundTrip(id: 7, .seconds(1))])
        #expect(heart.handle(.pong(payload), at: 5).isEmpty, "a second pong is ignored")
        #expect(heart.machine.deadline == nil)
    }

    @Test func `only a pong answers an app's ping`() {
        var heart = DrivenHeartbeat(interval: nil)
        let payload = heart.request(7, patience: .seconds(5), at: 0)
        _ = heart.handle(.written(payload), at: 1)
        for second in 2...5 { _ = heart.handle(.activity, at: second) }
        #expect(heart.wake(at: 6) == [.expired(7)])
        #expect(heart.handle(.pong(payload), at: 7).isEmpty)
    }

    @Test func `an app's ping expires although the app does not read`() {
        var heart = DrivenHeartbeat(interval: nil, stall: .seconds(60))
        _ = heart.handle(.paused, at: 0)
        _ = heart.request(7, at: 0)
        #expect(heart.wake(at: 60) == [.expired(7)])
    }

    @Test func `a pong answers its ping and all earlier ones`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        let first = heart.request(1, at: 0)
        let automatic = heart.ping(at: 20)
        let second = heart.request(2, at: 21)
        let third = heart.request(3, at: 22)
        for payload in [first, automatic, second, third] { _ = heart.handle(.written(payload), at: 23) }
        #expect(
            heart.handle(.pong(second), at: 24)
                == [.roundTrip(id: 1, .seconds(1)), .roundTrip(id: nil, .seconds(1)), .roundTrip(id: 2, .seconds(1))])
        #expect(heart.handle(.pong(third), at: 25) == [.roundTrip(id: 3, .seconds(2))])
    }

    @Test(
        arguments: [
            [], [1, 2, 3], [0xAB, 0xCD, 0xEF, 0x01, 0, 0, 0, 2], [0xAB, 0xCD, 0xEF, 0x01, 0xFF, 0xFF, 0xFF, 0xFF],
            [0xAB, 0xCD, 0xEF, 0x02, 0, 0, 0, 1], [0xAB, 0xCD, 0xEF, 0x01, 0, 0, 0, 1, 0], Array(repeating: 0, count: 125),
        ] as [[UInt8]])
    func `an unsolicited pong answers no ping`(payload: [UInt8]) {
        var heart = DrivenHeartbeat(interval: nil)
        let ours = heart.request(1, at: 0)
        _ = heart.handle(.written(ours), at: 0)
        #expect(heart.handle(.pong(payload), at: 1).isEmpty)
        #expect(heart.handle(.pong(ours), at: 2) == [.roundTrip(id: 1, .seconds(2))])
    }

    @Test func `pings beyond the capacity expire at once`() {
        var heart = DrivenHeartbeat(interval: nil)
        for id in 0..<64 as Range<UInt64> { _ = heart.request(id, at: 0) }
        #expect(heart.handle(.pingRequested(id: 64, patience: .seconds(1)), at: 0) == [.expired(64)])
        #expect(heart.handle(.ended, at: 1) == (0..<64).map { .expired($0) })
        #expect(heart.handle(.pingRequested(id: 65, patience: .seconds(1)), at: 2) == [.expired(65)])
    }

    @Test func `in every sequence of events each requested ping gets exactly one result`() {
        let inputs: [Audited.Input] =
            [.request, .writeOldest, .pongNewest, .pongOldest]
            + [.activity, .answered, .postponed, .setInterval(.seconds(3)), .paused, .resumed, .ended].map { .other($0) }
        let states = explore(Audited(), inputs: inputs, depth: 7, tick: .seconds(2)) { step in
            let after = step.after
            #expect(Set(after.reported).count == after.reported.count, "two results: \(step)")
            #expect(after.reported.allSatisfy { $0 < after.requests }, "\(step)")
            if after.isOver { #expect(after.reported.count == after.requests && after.deadline == nil, "\(step)") }
            let deadBefore = step.before.isOver
            #expect(!deadBefore || !step.effects.contains { if case .sendPing = $0 { true } else { $0 == .dead } }, "\(step)")
            if step.input == nil, let deadline = step.before.deadline {
                if step.now < deadline {
                    #expect(step.effects.isEmpty && after == step.before, "waking early does nothing: \(step)")
                } else {
                    #expect(!step.effects.isEmpty, "a deadline always has an effect: \(step)")
                    #expect(after.deadline ?? .distantFuture > step.now, "the deadline advances: \(step)")
                }
            }
        }
        #expect(states > 1000)
    }

    /// The link is slow but loses nothing before the cut.
    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `a peer that answers is never declared dead, and a silent one always is`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let (interval, patience) = (Duration.seconds(20), Duration.seconds(5))
        var world = Simulation(DrivenHeartbeat(interval: interval, patience: patience).machine, Ponger()) {
            if case .sendPing(let payload) = $0 { payload } else { nil }
        } inward: {
            .pong($0)
        }
        let cut = Moment(.seconds(Int64.random(in: 100...1000, using: &random)))
        while world.now < cut {
            world.delay = .milliseconds(Int64.random(in: 1...2400, using: &random))
            guard let effects = world.step() else { break }
            for case .sendPing(let payload) in effects.near { world.send(.written(payload)) }
            #expect(!effects.near.contains(.dead))
        }
        world.cut()
        world.isLost = { true }
        let (silentSince, end) = (world.now, world.now + interval + interval + patience)
        var deadReports = 0
        while let effects = world.step(), world.now <= end {
            for case .sendPing(let payload) in effects.near { world.send(.written(payload)) }
            deadReports += effects.near.count { $0 == .dead }
        }
        #expect(deadReports == 1 && world.now - silentSince <= interval + patience)
    }
}

/// Answers every ping.
private struct Ponger: Machine {
    var deadline: Moment? { nil }
    mutating func handle(_ payload: [UInt8], at now: Moment, into effects: inout [[UInt8]]) { effects.append(payload) }
    mutating func wake(at now: Moment, into effects: inout [[UInt8]]) {}
}

/// A heartbeat with its queue of pings, and the results of the app's pings.
private struct Audited: Machine, Hashable {
    enum Input: Hashable { case request, writeOldest, pongNewest, pongOldest, other(Heartbeat.Input) }

    var machine = Heartbeat(interval: .seconds(4), patience: .seconds(2), stall: .seconds(6), seed: 9)
    var queued: [[UInt8]] = []
    var written: [[UInt8]] = []
    var requests: UInt64 = 0
    var reported: [UInt64] = []
    var isOver = false
    var deadline: Moment? { machine.deadline }

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [Heartbeat.Effect]) {
        switch input {
        case .request:
            machine.handle(.pingRequested(id: requests, patience: .seconds(3)), at: now, into: &effects)
            requests += 1
        case .writeOldest:
            guard !queued.isEmpty else { return }
            written.append(queued.removeFirst())
            machine.handle(.written(written[written.count - 1]), at: now, into: &effects)
        case .pongNewest: if let payload = written.last { machine.handle(.pong(payload), at: now, into: &effects) }
        case .pongOldest: if let payload = written.first { machine.handle(.pong(payload), at: now, into: &effects) }
        case .other(let input):
            machine.handle(input, at: now, into: &effects)
            if input == .ended { isOver = true }
        }
        note(effects)
    }
    mutating func wake(at now: Moment, into effects: inout [Heartbeat.Effect]) {
        machine.wake(at: now, into: &effects)
        note(effects)
    }
    private mutating func note(_ effects: [Heartbeat.Effect]) {
        for effect in effects {
            switch effect {
            case .sendPing(let payload): queued.append(payload)
            case .roundTrip(let id?, _), .expired(let id): reported.append(id)
            case .roundTrip(nil, _): break
            case .dead: isOver = true
            }
        }
    }
}
