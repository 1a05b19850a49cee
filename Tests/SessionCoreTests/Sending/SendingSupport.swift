import MachineCore
import SessionCore

/// A send queue whose calls return their effects.
struct DrivenQueue {
    private(set) var machine: SendQueue
    private(set) var now = Moment.start

    init(_ whileDisconnected: SendPolicy.WhileDisconnected, capacity: SendVolume = SendVolume(count: 3, bytes: 100)) {
        machine = SendQueue(policy: SendPolicy(whileDisconnected: whileDisconnected, capacity: capacity))
    }
    /// A queue with a capacity.
    init(_ overflow: SendPolicy.Overflow, count: Int = 3, bytes: Int = 100) {
        let capacity = SendVolume(count: count, bytes: bytes)
        machine = SendQueue(policy: SendPolicy(whileDisconnected: .queue, capacity: capacity, overflow: overflow))
    }

    @discardableResult
    mutating func handle(_ input: SendQueue.Input, at second: Int? = nil) -> [SendQueue.Effect] {
        var effects: [SendQueue.Effect] = []
        if let second { now = Moment(.seconds(second)) }
        machine.handle(input, at: now, into: &effects)
        return effects
    }
    @discardableResult
    mutating func submit(
        _ id: UInt64, _ lane: Lane = .normal, bytes: Int = 1, patience: Int? = nil, at second: Int? = nil
    ) -> [SendQueue.Effect] {
        handle(.submit(id: id, lane: lane, byteCount: bytes, patience: patience.map { .seconds($0) }), at: second)
    }
    mutating func wake(at second: Int) -> [SendQueue.Effect] {
        var effects: [SendQueue.Effect] = []
        now = Moment(.seconds(second))
        machine.wake(at: now, into: &effects)
        return effects
    }
    /// Opens a connection that takes every message.
    mutating func drain() -> [UInt64] {
        var sent: [UInt64] = []
        var effects = handle(.opened)
        while case .transmit(let id) = effects.last {
            sent.append(id)
            effects = handle(.taken(id))
        }
        return sent
    }
}
