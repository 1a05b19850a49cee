import MachineCore
import WebSocketCore

extension FuzzTarget {
    /// Two bytes make a step: what happens, and how long after the last step, in tenths of a second.
    static func heartbeat(_ input: inout FuzzInput) throws {
        let interval = input.choose([Duration.seconds(2), .seconds(10), nil])
        var machine = Heartbeat(interval: interval, patience: .seconds(3), stall: .seconds(6), seed: 7)
        var ledger = Ledger()
        var now = Moment.start
        func apply(_ change: (inout Heartbeat, inout [Heartbeat.Effect]) -> Void) throws {
            var effects: [Heartbeat.Effect] = []
            change(&machine, &effects)
            try ledger.note(effects)
        }

        for _ in 0..<300 where !input.isEmpty {
            let choice = input.byte()
            now = now + .milliseconds(100 * Int(input.byte()))
            let argument = Int(choice / 8)
            switch choice % 8 {
            case 0:
                let id = ledger.newID()
                try apply { $0.handle(.pingRequested(id: id, patience: .seconds(argument)), at: now, into: &$1) }
            case 1, 2:
                // A payload that was sent, or a stranger's.
                let payload = ledger.payloads.isEmpty ? [UInt8(argument)] : ledger.payloads[argument % ledger.payloads.count]
                try apply { $0.handle(choice % 8 == 1 ? .written(payload) : .pong(payload), at: now, into: &$1) }
            case 3: try apply { $0.handle(.activity, at: now, into: &$1) }
            case 4: try apply { $0.handle(argument % 2 == 0 ? .paused : .resumed, at: now, into: &$1) }
            case 5 where argument == 31:
                try apply { $0.handle(.ended, at: now, into: &$1) }
                try expect(ledger.isSettled, "a ping without an answer at the end")
            default:
                let (before, count) = (machine, ledger.effectCount)
                try apply { $0.wake(at: now, into: &$1) }
                if before.deadline.map({ now < $0 }) ?? true {
                    try expect(machine == before && ledger.effectCount == count, "an early wake changes something")
                }
                try expect(machine.deadline.map { $0 > now } ?? true, "a deadline in the past after a wake")
            }
        }
        // Silence: every ping is settled, and the machine dies or rests.
        for _ in 0..<1000 {
            guard let deadline = machine.deadline else { break }
            now = max(now, deadline)
            try apply { $0.wake(at: now, into: &$1) }
            try expect(machine.deadline.map { $0 > now } ?? true, "a deadline that stands still")
        }
        try expect(machine.deadline == nil, "it neither dies nor rests")
        try expect(ledger.isSettled, "a ping without an answer after the last deadline")
        try apply { $0.handle(.ended, at: now, into: &$1) }
        try expect(machine.deadline == nil, "a deadline after the end")
    }
}

/// Which pings are out.
private struct Ledger {
    private(set) var payloads: [[UInt8]] = []
    private(set) var effectCount = 0
    private var (lastID, open, isDead) = (0 as UInt64, [] as Set<UInt64>, false)

    var isSettled: Bool { open.isEmpty }

    mutating func newID() -> UInt64 {
        lastID += 1
        open.insert(lastID)
        return lastID
    }

    mutating func note(_ effects: [Heartbeat.Effect]) throws {
        effectCount += effects.count
        for effect in effects {
            switch effect {
            case .sendPing(let payload):
                try expect(!isDead, "a ping after death")
                try expect(payload.count <= 125, "a ping of \(payload.count) bytes")
                payloads.append(payload)
            case .roundTrip(let id, let time):
                try expect(time >= .zero, "a round trip of \(time)")
                if let id { try expect(open.remove(id) != nil, "ping \(id) is answered twice") }
            case .expired(let id): try expect(open.remove(id) != nil, "ping \(id) is answered twice")
            case .dead:
                try expect(!isDead, "it dies twice")
                isDead = true
            }
        }
    }
}
