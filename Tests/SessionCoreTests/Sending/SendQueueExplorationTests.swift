import HoldfastTesting
import MachineCore
import SessionCore
import Testing

@Suite struct SendQueueExplorationTests {
    static let policies: [SendPolicy] = [
        SendPolicy(whileDisconnected: .wait(.seconds(2))),
        SendPolicy(whileDisconnected: .fail),
        SendPolicy(whileDisconnected: .queue, capacity: SendVolume(count: 2, bytes: 3), overflow: .refuse),
        SendPolicy(whileDisconnected: .queue, capacity: SendVolume(count: 2, bytes: 3), overflow: .dropOldest),
        SendPolicy(whileDisconnected: .queue, capacity: SendVolume(count: 2, bytes: 3), overflow: .dropNewest),
    ]

    @Test(arguments: policies)
    func `in every sequence of events each send ends once, in order and within the capacity`(policy: SendPolicy) throws {
        let ids: [UInt64] = [1, 2, 3, 5]
        let inputs: [SendQueue.Input] =
            [
                .opened, .lost, .room, .close,
                .submit(id: 1, lane: .normal, byteCount: 1, patience: .seconds(1)),
                .submit(id: 2, lane: .normal, byteCount: 2, patience: nil),
                .submit(id: 3, lane: .urgent, byteCount: 2, patience: .seconds(3)),
                .submit(id: 4, lane: .bulk, byteCount: 1, patience: nil),
                .submit(id: 5, lane: .normal, byteCount: 4, patience: .zero),
            ]
            + ids.flatMap { [.withdraw($0), .taken($0), .blocked($0)] as [SendQueue.Input] }
        let states = try explore(AuditedQueue(policy), inputs: inputs, depth: 6) { step in
            try #require(step.after.fault == nil, "\(step)")
        }
        #expect(states > 900)
    }
}
