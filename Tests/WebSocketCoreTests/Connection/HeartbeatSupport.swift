import MachineCore
import Testing
import WebSocketCore

/// A heartbeat whose calls return their effects, with times in whole seconds.
struct DrivenHeartbeat {
    private(set) var machine: Heartbeat

    init(interval: Duration?, patience: Duration = .seconds(20), stall: Duration = .seconds(60)) {
        machine = Heartbeat(interval: interval, patience: patience, stall: stall, seed: 0xABCD_EF01)
    }
    mutating func handle(_ input: Heartbeat.Input, at second: Int) -> [Heartbeat.Effect] {
        var effects: [Heartbeat.Effect] = []
        machine.handle(input, at: Moment(.seconds(second)), into: &effects)
        return effects
    }
    mutating func wake(at second: Int) -> [Heartbeat.Effect] {
        var effects: [Heartbeat.Effect] = []
        machine.wake(at: Moment(.seconds(second)), into: &effects)
        return effects
    }
    /// The payload of the automatic ping due at this second.
    mutating func ping(at second: Int) -> [UInt8] { payload(wake(at: second)) }
    /// The payload of an app's ping.
    mutating func request(_ id: UInt64, patience: Duration = .seconds(10), at second: Int) -> [UInt8] {
        payload(handle(.pingRequested(id: id, patience: patience), at: second))
    }
    /// The payload of the ping that a probe sends.
    mutating func probe(at second: Int) -> [UInt8] { payload(handle(.probe, at: second)) }
    /// The payload of the ping among these.
    func payload(_ effects: [Heartbeat.Effect]) -> [UInt8] {
        for case .sendPing(let payload) in effects { return payload }
        Issue.record("no ping was sent: \(effects)")
        return []
    }
}
