import MachineCore
import WebSocketCore

extension FuzzTarget {
    /// Two bytes make a step: the event, and the time since the last step in tenths of a second.
    static func heartbeat(_ input: inout FuzzInput) throws {
        let interval = input.choose([Duration.seconds(2), .seconds(10), nil])
        var machine = Heartbeat(interval: interval, patience: .seconds(3), stall: .seconds(6), seed: 7)
        var pings = PingRecord()
        var now = Moment.start
        func apply(_ change: (inout Heartbeat, inout [Heartbeat.Effect]) -> Void) throws {
            var effects: [Heartbeat.Effect] = []
            change(&machine, &effects)
            try pings.note(effects)
        }

        for _ in 0..<300 where !input.isEmpty {
            let choice = input.byte()
            now = now + .milliseconds(100 * Int(input.byte()))
            let argument = Int(choice / 8)
            switch choice % 8 {
            case 0:
                let id = pings.newID()
                try apply { $0.handle(.pingRequested(id: id, patience: .seconds(argument)), at: now, into: &$1) }
            case 1, 2:
                // A payload that was sent, or an unknown one.
                let payload = pings.payloads.isEmpty ? [UInt8(argument)] : pings.payloads[argument % pings.payloads.count]
                try apply { $0.handle(choice % 8 == 1 ? .written(payload) : .pong(payload), at: now, into: &$1) }
            case 3: try apply { $0.handle(.activity, at: now, into: &$1) }
            case 4: try apply { $0.handle(argument % 2 == 0 ? .paused : .resumed, at: now, into: &$1) }
            case 5 where argument == 31:
                try apply { $0.handle(.ended, at: now, into: &$1) }
                try expect(pings.isSettled, "a ping without a result at the end")
            default:
                let (before, count) = (machine, pings.effectCount)
                try apply { $0.wake(at: now, into: &$1) }
                if before.deadline.map({ now < $0 }) ?? true {
                    try expect(machine == before && pings.effectCount == count, "an early wake has an effect")
                }
                try expect(machine.deadline.map { $0 > now } ?? true, "a deadline in the past after a wake")
            }
        }
        // Silence: every ping gets a result, and the connection dies or has no deadline.
        for _ in 0..<1000 {
            guard let deadline = machine.deadline else { break }
            now = max(now, deadline)
            try apply { $0.wake(at: now, into: &$1) }
            try expect(machine.deadline.map { $0 > now } ?? true, "the deadline does not advance")
        }
        try expect(machine.deadline == nil, "the connection neither dies nor waits without a deadline")
        try expect(pings.isSettled, "a ping without a result after the last deadline")
        try apply { $0.handle(.ended, at: now, into: &$1) }
        try expect(machine.deadline == nil, "a deadline after the end")
    }
}

/// The sent and the pending pings.
private struct PingRecord {
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
                try expect(!isDead, "a ping after the connection died")
                try expect(payload.count <= 125, "a ping of \(payload.count) bytes")
                payloads.append(payload)
            case .roundTrip(let id, let time):
                try expect(time >= .zero, "a round trip of \(time)")
                if let id { try expect(open.remove(id) != nil, "ping \(id) has two results") }
            case .expired(let id): try expect(open.remove(id) != nil, "ping \(id) has two results")
            case .dead:
                try expect(!isDead, "the connection dies twice")
                isDead = true
            }
        }
    }
}
