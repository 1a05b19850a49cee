import DequeModule
import HoldfastTesting
import Testing
import WebSocketCore
import WebSocketRuntime

/// Many concurrent tasks.
///
/// Each seed is another mix of speeds, timeouts and cancelled waits.
@Suite(.timeLimit(.minutes(2))) struct QueueStressTests {
    static let seeds: [UInt64] = Array(1...12)

    @Test(arguments: seeds)
    func `concurrent consumers get each appended element once, within the capacity`(_ seed: UInt64) async {
        let total = 3000
        let (rooms, room) = AsyncStream.makeStream(of: Void.self)
        let (level, peak) = (Tally(), LockedValue(0))
        let queue = InboundQueue(capacity: 20 * 70) { room.yield() }
        let taken = await withTaskGroup(of: [Int].self) { group in
            for consumer in 1...4 {
                group.addTask { await consume(queue, SeededGenerator(seed: seed &* 31 &+ UInt64(consumer)), level) }
            }
            group.addTask {
                var random = SeededGenerator(seed: seed)
                var (next, room) = (0, rooms.makeAsyncIterator())
                while next < total {
                    let size = min(Int.random(in: 1...8, using: &random), total - next)
                    var batch = ReceivedBatch((next..<next + size).map { Received.message(numbered($0)) })
                    next += size
                    let now = level.add(size)
                    peak.withLockedValue { $0 = max($0, now) }
                    if !queue.append(&batch) { await room.next() }
                    for _ in 0..<Int.random(in: 0...2, using: &random) { await Task.yield() }
                }
                queue.finish(.success(()))
                return []
            }
            var taken: [Int] = []
            for await some in group {
                #expect(zip(some, some.dropFirst()).allSatisfy(<), "no consumer gets elements out of order")
                taken += some
            }
            return taken
        }
        #expect(taken.sorted() == Array(0..<total))
        // 21 short messages fit, which cost 65 or 66 bytes. A batch of 8 may exceed that, and 4 consumers may hold messages that they have
        // not counted.
        #expect(peak.withLockedValue(\.self) <= 21 + 8 + 4)
    }

    /// Takes until the end.
    ///
    /// Some waits are cancelled at random.
    private func consume(_ queue: InboundQueue, _ random: SeededGenerator, _ level: Tally) async -> [Int] {
        var (random, taken) = (random, [Int]())
        while true {
            let task = Task { await outcome { () async throws(TransportError) in try await queue.next() } }
            if Int.random(in: 0..<3, using: &random) == 0 {
                for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
                task.cancel()
            }
            switch await task.value {
            case .success(let received?):
                level.add(-1)
                taken.append(received.number ?? -1)
            case .success(nil): return taken
            case .failure(let code): #expect(code == .cancelled)
            }
        }
    }

    @Test(arguments: seeds)
    func `accepted messages of many senders are taken once, in the order of each, never mixed, within the capacity`(_ seed: UInt64) async {
        let (works, work) = AsyncStream.makeStream(of: Void.self)
        let queue = OutboundQueue(capacity: 400) { work.yield() }
        let (accepted, taken) = await withTaskGroup(of: [String].self) { group in
            for sender in 0..<6 {
                group.addTask { await send(as: sender, over: queue, SeededGenerator(seed: seed &* 31 &+ UInt64(sender))) }
            }
            let taking = Task { await takeAll(from: queue, works) }
            var accepted: [String] = []
            for await some in group { accepted += some }
            queue.finish(TransportError(.closed, "over"), discarding: false)
            work.finish()
            return (accepted, await taking.value)
        }
        #expect(taken.count == accepted.count)
        #expect(taken.sorted() == accepted.sorted(), "each message once and complete")
        for sender in 0..<6 {
            let numbers = taken.filter { $0.hasPrefix("\(sender):") }
            #expect(numbers == accepted.filter { $0.hasPrefix("\(sender):") }, "the order of sender \(sender)")
        }
    }

    /// Sends messages whole and in pieces.
    ///
    /// Some waits are cancelled.
    ///
    /// Returns the accepted messages.
    private func send(as sender: Int, over queue: OutboundQueue, _ random: SeededGenerator) async -> [String] {
        var (random, accepted) = (random, [String]())
        for number in 0..<200 {
            let text = "\(sender):\(number)"
            let pieces = Int.random(in: 0...4, using: &random)
            let task = Task { await send(text, pieces: pieces, over: queue) }
            if Int.random(in: 0..<4, using: &random) == 0 {
                for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
                task.cancel()
            }
            if await task.value { accepted.append(text) }
        }
        return accepted
    }

    private func send(_ text: String, pieces: Int, over queue: OutboundQueue) async -> Bool {
        guard pieces > 0 else { return await outcome { () async throws(TransportError) in try await queue.send(.text(text)) }.isSuccess }
        guard let ticket = try? await queue.beginMessage() else { return false }
        // A message that has begun must be completed, so no one cancels this task.
        return await Task {
            for number in 0..<pieces {
                let bytes = number == 0 ? Array(text.utf8) : []
                let chunk = MessageChunk(kind: .text, bytes: bytes, isLast: number == pieces - 1)
                guard (try? await queue.send(chunk, of: ticket)) != nil else { return false }
            }
            return true
        }.value
    }

    /// Takes as a transport does: when notified, until the queue is empty.
    private func takeAll(from queue: OutboundQueue, _ works: AsyncStream<Void>) async -> [String] {
        var (taken, partial) = ([String](), String?.none)
        var iterator = works.makeAsyncIterator()
        while true {
            let isOver = await iterator.next() == nil
            while true {
                let batch = queue.take(upTo: 150)
                #expect(batch.reduce(0) { $0 + $1.cost } <= 150 + 40)
                if batch.isEmpty { break }
                for entry in batch {
                    switch entry {
                    case .mark: Issue.record("an unexpected mark")
                    case .message(.text(let text)):
                        #expect(partial == nil, "a message between the pieces of another")
                        taken.append(text)
                    case .message(.binary): Issue.record("an unexpected binary message")
                    case .chunk(let chunk, let isFirst):
                        #expect(isFirst == (partial == nil))
                        partial = (partial ?? "") + String(decoding: chunk.bytes, as: UTF8.self)
                        if chunk.isLast, let whole = partial.take() { taken.append(whole) }
                    }
                }
            }
            if isOver { return taken }
        }
    }
}
