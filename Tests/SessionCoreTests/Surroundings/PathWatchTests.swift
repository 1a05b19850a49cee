import HoldfastTesting
import MachineCore
import SessionCore
import Testing

@Suite struct PathWatchTests {
    static let wifi = NetworkPath(.wifi, interface: "en0")
    static let cellular = NetworkPath(.cellular, interface: "pdp_ip0", isExpensive: true)

    @Test func `the first path causes no effect`() {
        var watch = Stepper(PathWatch())
        #expect(watch.handle(.satisfied(Self.wifi), at: 0).isEmpty)
        #expect(watch.machine.phase == .online(Self.wifi))
    }

    @Test func `a repeated path causes no effect`() {
        var watch = Stepper(PathWatch())
        _ = watch.handle(.satisfied(Self.wifi), at: 0)
        #expect(watch.handle(.satisfied(Self.wifi), at: 1).isEmpty)
    }

    @Test(
        arguments: [
            cellular, NetworkPath(.wifi, interface: "en1"), NetworkPath(.wired, interface: "en0"),
            NetworkPath(.wifi, interface: "en0", isExpensive: true), NetworkPath(.wifi, interface: "en0", isConstrained: true),
        ])
    func `a path that differs in any property probes the connection`(other: NetworkPath) {
        var watch = Stepper(PathWatch())
        _ = watch.handle(.satisfied(Self.wifi), at: 0)
        #expect(watch.handle(.satisfied(other), at: 1) == [.probe])
        #expect(watch.handle(.satisfied(other), at: 2).isEmpty)
        #expect(watch.handle(.satisfied(Self.wifi), at: 3) == [.probe])
    }

    /// After the path was lost, a client must not claim for half a minute that it is connected.
    @Test func `a lost path holds attempts and probes the connection`() {
        var watch = Stepper(PathWatch())
        _ = watch.handle(.satisfied(Self.wifi), at: 0)
        #expect(watch.handle(.unsatisfied, at: 1) == [.hold, .probe])
        #expect(watch.handle(.unsatisfied, at: 2).isEmpty)
    }

    /// Some clients wait out their backoff although the network is back: centrifuge#106.
    @Test(arguments: [wifi, cellular])
    func `a returned network releases attempts and probes the connection`(path: NetworkPath) {
        var watch = Stepper(PathWatch())
        _ = watch.handle(.satisfied(Self.wifi), at: 0)
        _ = watch.handle(.unsatisfied, at: 1)
        #expect(watch.handle(.satisfied(path), at: 2) == [.release, .probe])
        #expect(watch.handle(.satisfied(path), at: 3).isEmpty)
    }

    @Test func `a first path after none releases attempts`() {
        var watch = Stepper(PathWatch())
        #expect(watch.handle(.unsatisfied, at: 0) == [.hold, .probe])
        #expect(watch.handle(.satisfied(Self.wifi), at: 1) == [.release, .probe])
    }

    @Test func `a watch that does not hold still reports that the network is back`() {
        var watch = Stepper(PathWatch(policy: PathPolicy(holdsWhenUnsatisfied: false)))
        #expect(watch.handle(.unsatisfied, at: 0) == [.probe])
        #expect(watch.handle(.satisfied(Self.wifi), at: 1) == [.release, .probe])
    }

    @Test func `a connection whose own path is lost is probed in every phase`() {
        var watch = Stepper(PathWatch())
        #expect(watch.handle(.notViable, at: 0) == [.probe])
        _ = watch.handle(.satisfied(Self.wifi), at: 1)
        #expect(watch.handle(.notViable, at: 2) == [.probe])
        _ = watch.handle(.unsatisfied, at: 3)
        #expect(watch.handle(.notViable, at: 4) == [.probe])
    }

    @Test func `a better path causes a hand-over only with that policy and with a network`() {
        var stays = Stepper(PathWatch())
        _ = stays.handle(.satisfied(Self.cellular), at: 0)
        #expect(stays.handle(.betterPathAvailable, at: 1).isEmpty)
        var moves = Stepper(PathWatch(policy: PathPolicy(handsOver: true)))
        #expect(moves.handle(.betterPathAvailable, at: 0) == [.handOver])
        _ = moves.handle(.satisfied(Self.cellular), at: 1)
        #expect(moves.handle(.betterPathAvailable, at: 2) == [.handOver])
        #expect(moves.handle(.satisfied(Self.wifi), at: 3) == [.probe], "a change alone causes no hand-over")
        _ = moves.handle(.unsatisfied, at: 4)
        #expect(moves.handle(.betterPathAvailable, at: 5).isEmpty)
    }

    @Test(arguments: [true, false], [true, false])
    func `in every sequence of events attempts are held only without a network, and returns are reported`(handsOver: Bool, holds: Bool) {
        let policy = PathPolicy(handsOver: handsOver, holdsWhenUnsatisfied: holds)
        let inputs: [PathWatch.Input] = [.satisfied(Self.wifi), .satisfied(Self.cellular), .unsatisfied, .notViable, .betterPathAvailable]
        let states = explore(Audited(policy), inputs: inputs, depth: 6) { step in
            let (before, after) = (step.before, step.after)
            #expect(step.after.deadline == nil, "\(step)")
            guard let input = step.input else {
                #expect(step.effects.isEmpty && after == before, "time alone changes nothing: \(step)")
                return
            }
            #expect(after.isHeld == (holds && after.machine.phase == .offline), "\(step)")
            #expect(!step.effects.contains(.hold) || !before.isHeld, "\(step)")
            let isReturn = before.machine.phase == .offline && after.machine.phase != .offline
            #expect(step.effects.contains(.release) == isReturn, "\(step)")
            let isChange = before.machine.phase != after.machine.phase && before.machine.phase != .unknown
            #expect(!(isChange || input == .notViable) || step.effects.contains(.probe), "\(step)")
            #expect(!step.effects.contains(.handOver) || (handsOver && input == .betterPathAvailable), "\(step)")
        }
        #expect(states == 4)
    }
}

/// A watch, and whether it holds attempts.
private struct Audited: Machine, Hashable {
    var machine: PathWatch
    var isHeld = false
    var deadline: Moment? { machine.deadline }

    init(_ policy: PathPolicy) { machine = PathWatch(policy: policy) }

    mutating func handle(_ input: PathWatch.Input, at now: Moment, into effects: inout [PathWatch.Effect]) {
        machine.handle(input, at: now, into: &effects)
        for effect in effects {
            switch effect {
            case .hold: isHeld = true
            case .release: isHeld = false
            case .probe, .handOver: break
            }
        }
    }
    mutating func wake(at now: Moment, into effects: inout [PathWatch.Effect]) { machine.wake(at: now, into: &effects) }
}
