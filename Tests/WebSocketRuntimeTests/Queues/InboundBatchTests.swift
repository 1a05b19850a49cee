import Testing
import WebSocketCore
import WebSocketRuntime

/// Batches that are taken, and elements that are put back.
@MainActor @Suite(.timeLimit(.minutes(1))) struct InboundBatchTests {
    /// Capacity for four of the messages below.
    private let capacity = 4 * 65

    private func append(_ numbers: ClosedRange<Int>, to queue: InboundQueue) -> Bool {
        var batch = messages(numbers)
        defer { #expect(batch.isEmpty) }
        return queue.append(&batch)
    }

    private func messages(_ numbers: ClosedRange<Int>) -> ReceivedBatch { ReceivedBatch(numbers.map { .message(numbered($0)) }) }

    private func batch(_ queue: InboundQueue) async -> Result<[Int], TransportError.Code> {
        await outcome { () async throws(TransportError) in try await queue.nextBatch().numbers }
    }

    @Test func `a batch contains the elements that arrived together, in order`() async {
        let queue = InboundQueue(capacity: 1000) {}
        #expect(append(1...3, to: queue) && append(4...5, to: queue))
        #expect(await batch(queue) == .success([1, 2, 3]))
        #expect(append(6...6, to: queue))
        #expect(await batch(queue) == .success([4, 5]))
        #expect(await batch(queue) == .success([6]))
    }

    @Test func `batches and single elements come in one order`() async throws {
        let queue = InboundQueue(capacity: 1000) {}
        #expect(append(1...3, to: queue))
        #expect(try await queue.next()?.number == 1)
        #expect(append(4...4, to: queue))
        #expect(await batch(queue) == .success([2, 3]))
        #expect(try await queue.next()?.number == 4)
    }

    @Test func `a task that waits for a batch gets all arriving elements, which use no capacity`() async {
        let queue = InboundQueue(capacity: capacity) {}
        let waiting = await started { await batch(queue) }
        #expect(append(1...20, to: queue))
        #expect(await waiting.value == .success(Array(1...20)))
        #expect(append(21...23, to: queue))
    }

    @Test func `waiting tasks share the arriving elements in order, and the rest stays in the queue`() async {
        let queue = InboundQueue(capacity: 1000) {}
        let first = await started { await batch(queue) }
        let second = await started { try? await queue.next()?.number }
        let third = await started { await batch(queue) }
        #expect(append(1...5, to: queue))
        #expect(await first.value == .success([1]))
        #expect(await second.value == 2)
        #expect(await third.value == .success([3]))
        #expect(await batch(queue) == .success([4, 5]))
    }

    @Test func `if fewer elements arrive than tasks wait, the later tasks keep waiting`() async {
        let queue = InboundQueue(capacity: 1000) {}
        let (first, second) = (await started { await batch(queue) }, await started { await batch(queue) })
        #expect(append(1...1, to: queue))
        #expect(await first.value == .success([1]))
        #expect(append(2...4, to: queue))
        #expect(await second.value == .success([2, 3, 4]))
    }

    @Test func `a batch frees capacity once`() async {
        let rooms = Tally()
        let queue = InboundQueue(capacity: capacity) { rooms.add() }
        #expect(!append(1...5, to: queue))
        #expect(await batch(queue) == .success([1, 2, 3, 4, 5]))
        // The next call means that the batch was consumed.
        let waiting = await started { await batch(queue) }
        #expect(rooms.count == 1)
        #expect(append(6...6, to: queue))
        #expect(await waiting.value == .success([6]))
        #expect(rooms.count == 1)
    }

    @Test func `elements put back come first again`() async throws {
        let queue = InboundQueue(capacity: 1000) {}
        #expect(append(1...4, to: queue))
        var taken = try await queue.nextBatch()
        #expect(taken.popFirst()?.number == 1)
        #expect(append(5...5, to: queue))
        queue.putBack(taken)
        #expect(try await queue.next()?.number == 2)
        #expect(await batch(queue) == .success([3, 4]))
        #expect(await batch(queue) == .success([5]))
    }

    @Test func `elements put back go to the waiting tasks in order`() async {
        let queue = InboundQueue(capacity: 1000) {}
        #expect(append(1...4, to: queue))
        let taken = try? await queue.nextBatch()
        let first = await started { await batch(queue) }
        let second = await started { try? await queue.next()?.number }
        queue.putBack(taken ?? ReceivedBatch())
        #expect(await first.value == .success([1]))
        #expect(await second.value == 2)
        #expect(await batch(queue) == .success([3, 4]))
    }

    @Test func `a task that waits for a batch gets all elements put back`() async {
        let queue = InboundQueue(capacity: 1000) {}
        #expect(append(1...4, to: queue))
        let taken = try? await queue.nextBatch()
        let waiting = await started { await batch(queue) }
        queue.putBack(taken ?? ReceivedBatch())
        #expect(await waiting.value == .success([1, 2, 3, 4]))
    }

    @Test func `an empty append or put-back wakes no task`() async {
        let queue = InboundQueue(capacity: 1000) {}
        let waiting = await started { await batch(queue) }
        var nothing = ReceivedBatch()
        #expect(queue.append(&nothing))
        queue.putBack(nothing)
        #expect(append(1...1, to: queue))
        #expect(await waiting.value == .success([1]))
    }

    @Test func `elements put back use capacity again until they are taken`() async throws {
        let rooms = Tally()
        let queue = InboundQueue(capacity: capacity) { rooms.add() }
        #expect(append(1...4, to: queue))
        let taken = try? await queue.nextBatch()
        queue.putBack(taken ?? ReceivedBatch())
        #expect(!append(5...5, to: queue))
        for number in 1...2 { #expect(try await queue.next()?.number == number) }
        #expect(rooms.count == 0)
        for number in 3...5 { #expect(try await queue.next()?.number == number) }
        #expect(rooms.count == 1)
        #expect(append(6...9, to: queue))
        #expect(!append(10...10, to: queue))
    }

    @Test func `a cancelled wait for a batch takes nothing`() async {
        let queue = InboundQueue(capacity: 1000) {}
        let (first, second) = (await started { await batch(queue) }, await started { await batch(queue) })
        first.cancel()
        #expect(await first.value == .failure(.cancelled))
        #expect(append(1...2, to: queue))
        #expect(await second.value == .success([1, 2]))
    }

    @Test func `a task that waits after others were served or cancelled gets the next elements`() async {
        let queue = InboundQueue(capacity: 1000) {}
        for number in 1...3 {
            let cancelled = await started { await batch(queue) }
            cancelled.cancel()
            #expect(await cancelled.value == .failure(.cancelled))
            let waiting = await started { await batch(queue) }
            #expect(append(number...number, to: queue))
            #expect(await waiting.value == .success([number]))
        }
    }

    @Test func `a message that is not stored as bytes is not popped as a short one`() {
        var batch = ReceivedBatch([.message(numbered(1))])
        #expect(batch.popShort() == nil && batch.count == 1)
        #expect(batch.popFirst() == .message(numbered(1)))
        #expect(batch.popShort() == nil && batch.isEmpty && batch.cost == 0)
    }

    @Test func `a cancelled task still takes the available batch, and does not wait`() async {
        let queue = InboundQueue(capacity: 1000) {}
        #expect(append(1...2, to: queue))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return (await batch(queue), await batch(queue))
        }
        #expect(await task.value == (.success([1, 2]), .failure(.cancelled)))
    }

    @Test func `after a clean end batches are empty once all elements were taken`() async {
        let queue = InboundQueue(capacity: 1000) {}
        #expect(append(1...2, to: queue))
        queue.finish(.success(()))
        #expect(await batch(queue) == .success([1, 2]))
        for _ in 1...2 { #expect(await batch(queue) == .success([])) }
    }

    @Test func `elements put back after the end are taken before it`() async {
        let queue = InboundQueue(capacity: 1000) {}
        #expect(append(1...3, to: queue))
        var taken = (try? await queue.nextBatch()) ?? ReceivedBatch()
        queue.finish(.failure(TransportError(.lost, "cut")))
        #expect(taken.popFirst()?.number == 1)
        queue.putBack(taken)
        #expect(await batch(queue) == .success([2, 3]))
        #expect(await batch(queue) == .failure(.lost))
    }

    @Test func `all tasks that wait for a batch learn of the end`() async {
        for end in [.success(()), .failure(TransportError(.lost, "cut"))] as [Result<Void, TransportError>] {
            let queue = InboundQueue(capacity: 1000) {}
            var tasks: [Task<Result<[Int], TransportError.Code>, Never>] = []
            for _ in 1...5 { tasks.append(await started { await batch(queue) }) }
            queue.finish(end)
            for task in tasks { #expect(await task.value == end.map { [] }.mapError(\.code)) }
        }
    }

    @Test func `a queue is idle while a task waits for a batch`() async {
        let idles = Tally()
        let queue = InboundQueue(capacity: 1000, onRoom: {}, onIdle: { idles.add() })
        #expect(append(1...2, to: queue))
        #expect(!queue.awaitIdle())
        #expect(await batch(queue) == .success([1, 2]))
        #expect(idles.count == 0, "the batch is still being consumed")
        let waiting = await started { await batch(queue) }
        #expect(idles.count == 1)
        #expect(queue.awaitIdle())
        queue.finish(.success(()))
        #expect(await waiting.value == .success([]))
    }
}
