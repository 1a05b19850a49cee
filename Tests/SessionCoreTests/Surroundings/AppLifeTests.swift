import HoldfastTesting
import MachineCore
import SessionCore
import Testing

@Suite struct AppLifeTests {
    static let policies: [BackgroundPolicy] = [.keep, .close(after: .seconds(3)), .close(after: .zero)]

    @Test func `the connection ends after the grace time in the background and returns in the foreground`() {
        var life = Stepper(AppLife(policy: .close(after: .seconds(3))))
        #expect(life.handle(.background, at: 10).isEmpty)
        #expect(life.wake(at: 12).isEmpty)
        #expect(life.wake(at: 13) == [.hold])
        #expect(life.handle(.foreground, at: 100) == [.release])
    }

    @Test func `a repeated background event does not extend the grace time`() {
        var life = Stepper(AppLife(policy: .close(after: .seconds(3))))
        _ = life.handle(.background, at: 10)
        _ = life.handle(.background, at: 12)
        #expect(life.wake(at: 13) == [.hold])
    }

    @Test(arguments: [.zero, .seconds(-1)] as [Duration])
    func `without grace time the connection ends at once`(grace: Duration) {
        var life = Stepper(AppLife(policy: .close(after: grace)))
        #expect(life.handle(.background, at: 10) == [.hold])
    }

    /// Some clients do not check the connection after the background: socket.io#1151, supabase-swift#595.
    @Test func `a kept connection is probed when the app returns`() {
        var life = Stepper(AppLife(policy: .keep))
        #expect(life.handle(.background, at: 10).isEmpty)
        #expect(life.machine.deadline == nil)
        #expect(life.handle(.foreground, at: 1000) == [.probe])
    }

    @Test func `a connection is also probed after a return within the grace time, because the app may have been frozen`() {
        var life = Stepper(AppLife(policy: .close(after: .seconds(3))))
        _ = life.handle(.background, at: 10)
        #expect(life.handle(.foreground, at: 1000) == [.probe])
        #expect(life.machine.deadline == nil)
    }

    @Test(arguments: policies)
    func `a suspended app drops its connection without a handshake and reconnects in the foreground`(policy: BackgroundPolicy) {
        var life = Stepper(AppLife(policy: policy))
        #expect(life.handle(.suspended, at: 0) == [.abandon])
        #expect(life.handle(.foreground, at: 1) == [.release])
        _ = life.handle(.background, at: 2)
        #expect(life.handle(.suspended, at: 3) == [.abandon])
        #expect(life.handle(.suspended, at: 4).isEmpty)
        #expect(life.machine.deadline == nil)
    }

    @Test func `an app woken in the background connects only with the keep policy`() {
        var keeps = Stepper(AppLife(policy: .keep))
        _ = keeps.handle(.suspended, at: 0)
        #expect(keeps.handle(.background, at: 1) == [.release])
        #expect(keeps.handle(.foreground, at: 2) == [.probe])
        var closes = Stepper(AppLife(policy: .close(after: .seconds(3))))
        _ = closes.handle(.suspended, at: 0)
        #expect(closes.handle(.background, at: 1).isEmpty)
        #expect(closes.machine.deadline == nil)
        #expect(closes.handle(.foreground, at: 2) == [.release])
    }

    @Test func `a session starts in the foreground`() {
        var life = Stepper(AppLife())
        #expect(life.handle(.foreground, at: 0).isEmpty)
        #expect(life.handle(.background, at: 1).isEmpty)
        #expect(life.wake(at: 4) == [.hold], "3 s by default")
    }

    @Test(arguments: policies)
    func `in every sequence of events each hold is released once, at the latest in the foreground`(policy: BackgroundPolicy) {
        let states = explore(Audited(policy), inputs: [.foreground, .background, .suspended], depth: 8) { step in
            let (before, after) = (step.before, step.after)
            #expect(step.effects.count <= 1, "\(step)")
            switch step.effects.first {
            case .hold: #expect(!before.isHeld, "\(step)")
            case .abandon: #expect(step.input == .suspended && before.machine.phase != .suspended, "\(step)")
            case .release: #expect(before.isHeld, "\(step)")
            case .probe: #expect(!before.isHeld && step.input == .foreground, "\(step)")
            case nil: break
            }
            if step.input == .foreground { #expect(!after.isHeld && after.machine.phase == .active && after.deadline == nil, "\(step)") }
            if step.input == .suspended { #expect(after.isHeld && after.deadline == nil, "\(step)") }
            if policy == .keep, step.input != .suspended, !before.isHeld { #expect(!after.isHeld, "\(step)") }
            if step.input == nil, let deadline = before.deadline {
                #expect((step.effects == [.hold]) == (step.now >= deadline), "\(step)")
                #expect(after.deadline == (step.now >= deadline ? nil : deadline), "\(step)")
            }
        }
        #expect(states >= 3)
    }
}

/// An app's life, and whether it holds the session.
private struct Audited: Machine, Hashable {
    var machine: AppLife
    var isHeld = false
    var deadline: Moment? { machine.deadline }

    init(_ policy: BackgroundPolicy) { machine = AppLife(policy: policy) }

    mutating func handle(_ input: AppLife.Input, at now: Moment, into effects: inout [AppLife.Effect]) {
        machine.handle(input, at: now, into: &effects)
        note(effects)
    }
    mutating func wake(at now: Moment, into effects: inout [AppLife.Effect]) {
        machine.wake(at: now, into: &effects)
        note(effects)
    }
    private mutating func note(_ effects: [AppLife.Effect]) {
        for effect in effects {
            switch effect {
            case .hold, .abandon: isHeld = true
            case .release: isHeld = false
            case .probe: break
            }
        }
    }
}
