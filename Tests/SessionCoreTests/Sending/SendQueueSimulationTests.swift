import HoldfastTesting
import MachineCore
import SessionCore
import Testing

/// The owner of a queue: senders, a connection with a small buffer, and a socket that accepts bytes at random.
private struct Sender {
    var random: SeededGenerator
    var queue: AuditedQueue
    var now = Moment.start
    var effects: [SendQueue.Effect] = []
    /// The connection, if there is one.
    var log: WriteLog?
    /// The ids that the connection accepted, by serial number.
    var takenIDs: [UInt64] = []
    let buffer = 4
    var lanes: [UInt64: Lane] = [:]
    var outcomes: [UInt64: [SendOutcome]] = [:]
    /// The messages that the socket wrote, in order.
    var wire: [UInt64] = []
    var passedThrough = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        let whiles: [SendPolicy.WhileDisconnected] = [.wait(.seconds(3)), .queue, .fail, .queue]
        let overflows: [SendPolicy.Overflow] = [.dropOldest, .dropNewest, .refuse]
        let capacity = SendVolume(count: Int.random(in: 0...8, using: &random), bytes: Int.random(in: 0...40, using: &random))
        queue = AuditedQueue(
            SendPolicy(whileDisconnected: whiles[Int(seed % 4)], capacity: capacity, overflow: overflows[Int(seed % 3)]))
    }

    var isFull: Bool { log.map { $0.taken - $0.written >= UInt64(buffer) } ?? true }

    mutating func step() {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<10: send()
        case 10..<14: drainSocket()
        case 14: handle(.withdraw(UInt64.random(in: 1...UInt64(lanes.count + 1), using: &random)))
        case 15: lose()
        case 16..<18: open()
        default:
            now = now + .milliseconds(Int.random(in: 0...1500, using: &random))
            queue.wake(at: now, into: &effects)
            carryOut()
        }
    }

    mutating func send() {
        let id = UInt64(lanes.count + 1)
        let lane = Lane.allCases.randomElement(using: &random) ?? .normal
        lanes[id] = lane
        if queue.machine.passesThrough, !isFull {
            passedThrough += 1
            return take(id)
        }
        let patience = Bool.random(using: &random) ? Duration.milliseconds(Int.random(in: 0...4000, using: &random)) : nil
        handle(.submit(id: id, lane: lane, byteCount: Int.random(in: 0...12, using: &random), patience: patience))
    }
    mutating func open() {
        guard log == nil else { return }
        (log, takenIDs) = (WriteLog(), [])
        handle(.opened)
    }
    mutating func lose() {
        guard var over = log else { return }
        over.end()
        for (serial, id) in zip(UInt64(1)..., takenIDs) {
            guard let outcome = over.outcome(of: serial) else { continue }
            outcomes[id, default: []].append(outcome)
        }
        log = nil
        handle(.lost)
    }
    mutating func drainSocket() {
        guard let before = log?.written, let taken = log?.taken, before < taken else { return }
        log?.write(through: UInt64.random(in: before + 1...taken, using: &random))
        wire += takenIDs[Int(before)..<Int(log?.written ?? before)]
        handle(.room)
    }
    mutating func handle(_ input: SendQueue.Input) {
        queue.handle(input, at: now, into: &effects)
        carryOut()
    }
    mutating func carryOut() {
        while !effects.isEmpty {
            switch effects.removeFirst() {
            case .transmit(let id):
                if isFull { return handle(.blocked(id)) }
                take(id)
                handle(.taken(id))
            case .recall: break  // The answer was immediate.
            case .refused(let id, let reason): outcomes[id, default: []].append(.refused(reason))
            }
        }
    }
    mutating func take(_ id: UInt64) {
        #expect(log?.take() != nil)
        takenIDs.append(id)
    }
}

@Suite struct SendQueueSimulationTests {
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func `with connections that open, stall and fail, each send is written, refused or unknown, in lane order`(seed: UInt64) {
        var sender = Sender(seed: seed)
        for _ in 0..<1000 where sender.queue.fault == nil { sender.step() }
        sender.handle(.close)
        sender.lose()
        #expect(sender.queue.fault == nil)
        #expect(sender.queue.live.isEmpty)
        #expect(sender.outcomes.count == sender.lanes.count, "no outcome is missing")
        #expect(sender.outcomes.values.allSatisfy { $0.count == 1 }, "no send has two outcomes")
        #expect(sender.wire.allSatisfy { sender.outcomes[$0] == [.written] })
        for lane in Lane.allCases {
            let ids = sender.wire.filter { sender.lanes[$0] == lane }
            #expect(ids == ids.sorted())
        }
        #expect(sender.passedThrough > 10 && sender.wire.count > 50, "the run sent enough messages")
    }
}
