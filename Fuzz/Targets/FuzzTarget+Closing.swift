import MachineCore
import WebSocketCore

extension FuzzTarget {
    /// Two bytes make a step: the event, and the time since the last step in tenths of a second.
    static func closing(_ input: inout FuzzInput) throws {
        let role: Role = input.byte() & 1 == 0 ? .client : .server
        let (patience, linger) = (Duration.seconds(3), Duration.seconds(1))
        var machine = CloseHandshake(role: role, patience: patience, linger: linger)
        var (effects, now, begun) = ([] as [CloseHandshake.Effect], Moment.start, nil as Moment?)

        for _ in 0..<100 where !input.isEmpty {
            let choice = input.byte()
            now = now + .milliseconds(100 * Int(input.byte()))
            let (before, count) = (machine, effects.count)
            switch choice % 5 {
            case 0: machine.handle(.close(CloseFrame(.normal, reason: "done")), at: now, into: &effects)
            case 1: machine.handle(.fail(CloseFrame(.protocolError)), at: now, into: &effects)
            case 2: machine.handle(.peerClose(CloseFrame(choice & 0x80 == 0 ? nil : .goingAway)), at: now, into: &effects)
            case 3: machine.handle(.transportEnded, at: now, into: &effects)
            default:
                machine.wake(at: now, into: &effects)
                if before.deadline.map({ now < $0 }) ?? true { try expectEqual(machine, before, "an early wake changes something") }
                let (woken, count) = (machine, effects.count)
                machine.wake(at: now, into: &effects)
                try expect(machine == woken && effects.count == count, "a second wake changes something")
            }
            if before.phase == .closed { try expect(machine == before && effects.count == count, "an effect after the end") }
            if machine.phase != .open { begun = begun ?? now }
            try checkClosing(machine, effects)
        }

        if let begun {
            while let deadline = machine.deadline {
                now = max(now, deadline)
                machine.wake(at: now, into: &effects)
                try expect(machine.deadline.map { $0 > now } ?? true, "the deadline does not advance")
                try expect(deadline <= begun + patience + linger || deadline <= now, "the deadline is too late")
            }
            try expect(machine.phase == .closed, "a close that never ends: \(machine)")
            try checkClosing(machine, effects)
        }
    }

    private static func checkClosing(_ machine: CloseHandshake, _ effects: [CloseHandshake.Effect]) throws {
        func count(_ isCounted: (CloseHandshake.Effect) -> Bool) -> Int { effects.count(where: isCounted) }
        let isClosed = machine.phase == .closed
        try expect(count { if case .sendClose = $0 { true } else { false } } <= 1, "two close frames: \(effects)")
        let endings = count { $0 == .endTransport }
        try expect(endings == (isClosed ? 1 : 0), "\(endings) ends in \(machine.phase): \(effects)")
        if isClosed { try expect(effects.last == .endTransport, "an effect after the end: \(effects)") }
        let outcomes = effects.compactMap { if case .finished(let record) = $0 { record } else { nil } }
        try expect(outcomes.count <= 1, "two outcomes: \(effects)")
        if isClosed { try expect(outcomes == [machine.record], "another outcome: \(effects)") }
        try expect(count { $0 == .endOutput } <= 1, "the output ends twice: \(effects)")
        if machine.record.isClean { try expect(machine.record.sent != nil && machine.record.received != nil, "clean: \(machine.record)") }
    }
}
