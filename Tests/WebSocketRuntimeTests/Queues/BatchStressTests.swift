import DequeModule
import HoldfastTesting
import Testing
import WebSocketCore
import WebSocketRuntime

/// Many concurrent tasks.
///
/// Each seed is another mix of batches, single elements, cancelled waits and elements put back.
@Suite(.timeLimit(.minutes(2))) struct BatchStressTests {
    static let seeds: [UInt64] = Array(1...12)
    private static let total = 3000

    @Test(arguments: seeds)
    func `concurrent consumers of batches get each appended element once`(_ seed: UInt64) async {
        let taken = await pass(consumers: 4, seed)
        #expect(taken.flatMap(\.self).sorted() == Array(0..<Self.total))
    }

    @Test(arguments: seeds)
    func `a single consumer of batches gets the elements in order`(_ seed: UInt64) async {
        #expect(await pass(consumers: 1, seed) == [Array(0..<Self.total)])
    }

    /// The elements that each consumer took.
    ///
    /// The producer pauses when the queue is full.
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
                    // Without capacity a transport would wait here.
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
                // Like a loop that ends early.
                for _ in 0..<Int.random(in: 0...batch.count, using: &random) { taken.append(batch.popFirst()?.number ?? -1) }
                if Bool.random(using: &random) { await Task.yield() }
                if !batch.isEmpty { queue.putBack(batch) }
            case .success(nil): return taken
            case .failure(let code): #expect(code == .cancelled)
            }
        }
    }

    @Test(arguments: seeds)
    func `encoded and other messages are taken once, in the order of each sender`(_ seed: UInt64) async {
        let (works, work) = AsyncStream.makeStream(of: Void.self)
        let scribe = Scribe()
        let queue = OutboundQueue(capacity: 400, encoder: scribe) { work.yield() }
        let (senders, count) = (6, 300)
        let taking = Task {
            var taken: [String] = []
            // Takes until the queue is empty whenever it is notified. Without a notification it would wait here forever.
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
                        // One kind per sender, so that the entries of a batch keep their order.
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
