import DequeModule
import HoldfastTesting
import Testing
import WebSocketCore
import WebSocketRuntime

/// Many tasks at once, on all processors; each seed is another mix of batches, single elements, cancelled waits and what is put back.
@Suite(.timeLimit(.minutes(2))) struct BatchStressTests {
    static let seeds: [UInt64] = Array(1...12)
    private static let total = 3000

    @Test(arguments: seeds)
    func `what many take in batches, and put back, is all that was appended, each once`(_ seed: UInt64) async {
        let taken = await pass(consumers: 4, seed)
        #expect(taken.flatMap(\.self).sorted() == Array(0..<Self.total))
    }

    @Test(arguments: seeds)
    func `what one takes in batches, and puts back, stays in order`(_ seed: UInt64) async {
        #expect(await pass(consumers: 1, seed) == [Array(0..<Self.total)])
    }

    /// What each consumer has taken of numbers that are appended a few at a time, with a rest when the queue is full.
    private func pass(consumers: Int, _ seed: UInt64) async -> [[Int]] {
        let (rooms, room) = AsyncStream.makeStream(of: Void.self)
        let queue = InboundQueue(capacity: 20 * 70) { room.yield() }
        return await withTaskGroup(of: [Int]?.self) { group in
            for consumer in 1...consumers {
                group.addTask { await consume(queue, SeededGenerator(seed: seed &* 31 &+ UInt64(consumer))) }
            }
            group.addTask {
                var random = SeededGenerator(seed: seed)
                var (next, room) = (0, rooms.makeAsyncIterator())
                while next < Self.total {
                    let size = min(Int.random(in: 1...12, using: &random), Self.total - next)
                    var batch = ReceivedBatch((next..<next + size).map { .message(numbered($0)) })
                    next += size
                    // Without room a transport would hang here for ever.
                    if !queue.append(&batch) { await room.next() }
                    for _ in 0..<Int.random(in: 0...2, using: &random) { await Task.yield() }
                }
                queue.finish(.success(()))
                return nil
            }
            return await group.reduce(into: []) { all, some in if let some { all.append(some) } }
        }
    }

    private func consume(_ queue: InboundQueue, _ random: SeededGenerator) async -> [Int] {
        var (random, taken) = (random, [Int]())
        while true {
            let takesAll = Bool.random(using: &random)
            let task = Task {
                await outcome { () async throws(TransportError) -> ReceivedBatch? in
                    if !takesAll { return try await queue.next().map { ReceivedBatch([$0]) } }
                    let batch = try await queue.nextBatch()
                    return batch.isEmpty ? nil : batch
                }
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
                task.cancel()
            }
            switch await task.value {
            case .success(var batch?):
                // As a loop that is left half-way, or at once.
                for _ in 0..<Int.random(in: 0...batch.count, using: &random) { taken.append(batch.popFirst()?.number ?? -1) }
                if Bool.random(using: &random) { await Task.yield() }
                if !batch.isEmpty { queue.putBack(batch) }
            case .success(nil): return taken
            case .failure(let code): #expect(code == .cancelled)
            }
        }
    }

    @Test(arguments: seeds)
    func `what is encoded and what is not is taken once, and in each one's order`(_ seed: UInt64) async {
        let (works, work) = AsyncStream.makeStream(of: Void.self)
        let scribe = Scribe()
        let queue = OutboundQueue(capacity: 400, encoder: scribe) { work.yield() }
        let (senders, count) = (6, 300)
        let taking = Task {
            var taken: [String] = []
            // Told of work, it takes until it finds nothing; whoever is not told of anything any more would hang here.
            for await _ in works {
                while true {
                    var encoded: [String] = []
                    let entries = queue.take(upTo: 150) { encoded = scribe.take() }
                    taken += encoded
                    for case .message(.binary(let bytes)) in entries { taken.append(String(decoding: bytes, as: UTF8.self)) }
                    for case .message(.text(let text)) in entries { taken.append(text) }
                    if entries.isEmpty { break }
                }
                if taken.count == senders * count { break }
            }
            return taken
        }
        await withDiscardingTaskGroup { group in
            for sender in 0..<senders {
                group.addTask {
                    var random = SeededGenerator(seed: seed &* 31 &+ UInt64(sender))
                    for number in 0..<count {
                        let text = "\(sender):\(number)"
                        // Of one kind each, so that a batch's entries keep their order here.
                        let message: Message = sender.isMultiple(of: 2) ? .text(text) : .binary(Array(text.utf8))
                        #expect(await outcome { () async throws(TransportError) in try await queue.send(message) }.isSuccess)
                        for _ in 0..<Int.random(in: 0...1, using: &random) { await Task.yield() }
                    }
                }
            }
        }
        let taken = await taking.value
        for sender in 0..<senders {
            #expect(taken.filter { $0.hasPrefix("\(sender):") } == (0..<count).map { "\(sender):\($0)" }, "the order of sender \(sender)")
        }
    }
}
