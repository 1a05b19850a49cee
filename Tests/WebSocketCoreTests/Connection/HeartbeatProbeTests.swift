import HoldfastTesting
import MachineCore
import Testing
import WebSocketCore

/// Pings sent at once on request, and changes of the interval.
@Suite struct HeartbeatProbeTests {
    /// After the path was lost, a client must not claim for half a minute that it is connected.
    @Test(arguments: [.seconds(20), nil] as [Duration?])
    func `a probe sends a ping at once, and the peer is dead if no byte follows`(interval: Duration?) {
        var heart = DrivenHeartbeat(interval: interval, patience: .seconds(5))
        _ = heart.handle(.activity, at: 3)
        let payload = heart.probe(at: 5)
        #expect(heart.handle(.written(payload), at: 6).isEmpty)
        #expect(heart.machine.deadline == Moment(.seconds(11)))
        #expect(heart.wake(at: 10).isEmpty)
        #expect(heart.wake(at: 11) == [.dead])
    }

    @Test func `any byte after a probe was written answers it`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        let payload = heart.probe(at: 5)
        _ = heart.handle(.written(payload), at: 5)
        _ = heart.handle(.activity, at: 7)
        #expect(heart.machine.deadline == Moment(.seconds(27)), "the next silence starts with that byte")
        #expect(heart.handle(.pong(payload), at: 8) == [.roundTrip(id: nil, .seconds(3))])
    }

    @Test func `a byte that arrived before the probe was written does not answer it`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        let payload = heart.probe(at: 5)
        _ = heart.handle(.activity, at: 6)
        _ = heart.handle(.written(payload), at: 7)
        #expect(heart.wake(at: 12) == [.dead])
    }

    @Test func `the connection is dead if a probe is not written and no byte moves for the stall timeout`() {
        var heart = DrivenHeartbeat(interval: nil, patience: .seconds(5), stall: .seconds(60))
        _ = heart.probe(at: 5)
        #expect(heart.wake(at: 64).isEmpty)
        #expect(heart.wake(at: 65) == [.dead])
    }

    @Test func `a probe while another probe is pending sends nothing`() {
        var heart = DrivenHeartbeat(interval: nil, patience: .seconds(5))
        let payload = heart.probe(at: 5)
        #expect(heart.handle(.probe, at: 6).isEmpty, "the first probe was not written yet")
        _ = heart.handle(.written(payload), at: 7)
        #expect(heart.handle(.probe, at: 11).isEmpty)
        #expect(heart.wake(at: 12) == [.dead], "the second probe does not extend the deadline")
    }

    @Test func `a probe while an automatic ping is pending sends nothing`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        let payload = heart.ping(at: 20)
        _ = heart.handle(.written(payload), at: 20)
        #expect(heart.handle(.probe, at: 22).isEmpty)
        #expect(heart.wake(at: 25) == [.dead])
    }

    @Test func `a probe after an answer sends a new ping`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        let first = heart.probe(at: 5)
        _ = heart.handle(.written(first), at: 5)
        _ = heart.handle(.activity, at: 6)
        let second = heart.probe(at: 7)
        _ = heart.handle(.written(second), at: 7)
        #expect(heart.wake(at: 12) == [.dead], "an earlier byte does not answer the second probe")
    }

    @Test func `a probe does not count an app's ping as its own, and does not disturb it`() {
        var heart = DrivenHeartbeat(interval: nil)
        let ours = heart.request(7, at: 0)
        _ = heart.handle(.written(ours), at: 0)
        for second in 1...3 {
            _ = heart.handle(.written(heart.probe(at: second)), at: second)
            _ = heart.handle(.activity, at: second + 1)
        }
        #expect(heart.handle(.pong(ours), at: 4) == [.roundTrip(id: 7, .seconds(4))])
    }

    @Test func `a probe that a pause interrupted is sent again when reading resumes`() {
        var heart = DrivenHeartbeat(interval: nil, patience: .seconds(5))
        _ = heart.handle(.written(heart.probe(at: 5)), at: 5)
        _ = heart.handle(.paused, at: 6)
        #expect(heart.machine.deadline == nil, "a paused reader does not expect bytes")
        #expect(heart.handle(.probe, at: 7).isEmpty)
        let again = heart.payload(heart.handle(.resumed, at: 1000))
        _ = heart.handle(.written(again), at: 1000)
        #expect(heart.wake(at: 1004).isEmpty)
        #expect(heart.wake(at: 1005) == [.dead])
    }

    @Test func `a probe that relied on an automatic ping is also sent again`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        _ = heart.handle(.written(heart.ping(at: 20)), at: 20)
        _ = heart.handle(.probe, at: 21)
        _ = heart.handle(.paused, at: 22)
        #expect(heart.handle(.resumed, at: 30).count == 1)
    }

    @Test func `a probe while reading is paused is sent, and its deadline starts when reading resumes`() {
        var heart = DrivenHeartbeat(interval: nil, patience: .seconds(5))
        _ = heart.handle(.paused, at: 0)
        _ = heart.handle(.written(heart.probe(at: 5)), at: 5)
        #expect(heart.machine.deadline == nil)
        _ = heart.handle(.written(heart.payload(heart.handle(.resumed, at: 60))), at: 60)
        #expect(heart.wake(at: 65) == [.dead])
    }

    @Test func `a probe that was answered or not written yet is not sent again after a pause`() {
        var heart = DrivenHeartbeat(interval: nil, patience: .seconds(5), stall: .seconds(60))
        let first = heart.probe(at: 5)
        _ = heart.handle(.written(first), at: 5)
        _ = heart.handle(.activity, at: 6)
        _ = heart.handle(.paused, at: 7)
        #expect(heart.handle(.resumed, at: 8).isEmpty)
        _ = heart.probe(at: 9)
        _ = heart.handle(.paused, at: 10)
        #expect(heart.handle(.resumed, at: 20).isEmpty)
        #expect(heart.machine.deadline == Moment(.seconds(80)))
    }

    @Test func `a probe after the end sends nothing`() {
        var heart = DrivenHeartbeat(interval: nil, patience: .seconds(5))
        _ = heart.handle(.ended, at: 1)
        #expect(heart.handle(.probe, at: 2).isEmpty)
        #expect(heart.handle(.setInterval(.seconds(1)), at: 2).isEmpty)
        #expect(heart.machine.deadline == nil)
    }

    @Test func `a new interval counts from the start of the current silence`() {
        var heart = DrivenHeartbeat(interval: .seconds(20))
        _ = heart.handle(.activity, at: 10)
        #expect(heart.handle(.setInterval(.seconds(60)), at: 11).isEmpty)
        #expect(heart.machine.deadline == Moment(.seconds(70)))
        _ = heart.handle(.setInterval(.seconds(5)), at: 18)
        #expect(heart.machine.deadline == Moment(.seconds(15)), "already due")
        _ = heart.ping(at: 18)
    }

    @Test func `removing the interval keeps the deadline of a pending ping`() {
        var heart = DrivenHeartbeat(interval: .seconds(20), patience: .seconds(5))
        _ = heart.handle(.written(heart.ping(at: 20)), at: 20)
        _ = heart.handle(.setInterval(nil), at: 21)
        #expect(heart.machine.deadline == Moment(.seconds(25)))
        _ = heart.handle(.activity, at: 22)
        #expect(heart.machine.deadline == nil)
    }

    @Test func `in every sequence of events a probe ends in time, with a byte or with a dead connection`() {
        let inputs: [ProbedHeartbeat.Input] =
            [.writeOldest, .pongNewest]
            + [.probe, .setInterval(.seconds(3)), .setInterval(nil), .activity, .paused, .resumed, .ended].map { .other($0) }
        let states = explore(ProbedHeartbeat(), inputs: inputs, depth: 7) { step in
            let (before, after) = (step.before, step.after)
            let pings = step.effects.count { if case .sendPing = $0 { true } else { false } }
            #expect(pings <= (before.isOver ? 0 : 1), "\(step)")
            if after.isOver { #expect(after.deadline == nil, "\(step)") }
            if after.isUnanswered && !after.isPaused && !after.isOver {
                let limit = after.writtenAt.map { $0 + ProbedHeartbeat.patience } ?? step.now + ProbedHeartbeat.stall
                #expect(after.deadline.map { $0 <= limit } ?? false, "\(step)")
            }
            if step.effects.contains(.dead) {
                let isSilent = before.writtenAt.map { step.now >= max($0, before.heardAt) + ProbedHeartbeat.patience } ?? true
                #expect(isSilent && !before.isPaused && !before.isOver, "\(step)")
                #expect(step.now >= before.heardAt + ProbedHeartbeat.patience, "\(step)")
            }
            if step.input == nil, let deadline = before.deadline {
                if step.now < deadline {
                    #expect(step.effects.isEmpty && after == before, "waking early does nothing: \(step)")
                } else {
                    #expect(!step.effects.isEmpty && after.deadline ?? .distantFuture > step.now, "the deadline advances: \(step)")
                }
            }
        }
        #expect(states > 1000)
    }
}

/// A heartbeat with its queue of pings, and whether a probe is unanswered.
private struct ProbedHeartbeat: Machine, Hashable {
    enum Input: Hashable { case writeOldest, pongNewest, other(Heartbeat.Input) }
    static let (patience, stall) = (Duration.seconds(2), Duration.seconds(4))

    var machine = Heartbeat(interval: nil, patience: patience, stall: stall, seed: 9)
    var queued: [[UInt8]] = []
    /// The payload of the newest ping after it was written.
    var written: [UInt8]?
    var writtenAt: Moment?
    var heardAt = Moment.start
    var isUnanswered = false
    var isPaused = false
    var isOver = false
    var deadline: Moment? { machine.deadline }

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [Heartbeat.Effect]) {
        switch input {
        case .writeOldest:
            guard !queued.isEmpty else { return }
            let payload = queued.removeFirst()
            if queued.isEmpty { (written, writtenAt) = (payload, now) }
            machine.handle(.written(payload), at: now, into: &effects)
        case .pongNewest:
            guard let written else { return }
            machine.handle(.pong(written), at: now, into: &effects)
            (isUnanswered, heardAt) = (false, now)
        case .other(let input):
            machine.handle(input, at: now, into: &effects)
            switch input {
            case .probe: isUnanswered = true
            case .activity:
                heardAt = now
                if let writtenAt, writtenAt < now { isUnanswered = false }
            case .paused: isPaused = true
            case .resumed: isPaused = false
            case .ended: isOver = true
            default: break
            }
        }
        note(effects)
    }
    mutating func wake(at now: Moment, into effects: inout [Heartbeat.Effect]) {
        machine.wake(at: now, into: &effects)
        note(effects)
    }
    private mutating func note(_ effects: [Heartbeat.Effect]) {
        for effect in effects {
            if case .sendPing(let payload) = effect {
                queued.append(payload)
                (written, writtenAt) = (nil, nil)
            }
            if effect == .dead { isOver = true }
        }
    }
}
