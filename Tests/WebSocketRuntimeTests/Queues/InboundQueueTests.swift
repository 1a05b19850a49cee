import Testing
import WebSocketCore
import WebSocketRuntime

@MainActor @Suite(.timeLimit(.minutes(1))) struct InboundQueueTests {
    private func queue(capacity: Int = 1000, onRoom: @escaping @Sendable () -> Void = {}) -> InboundQueue {
        InboundQueue(capacity: capacity, onRoom: onRoom)
    }

    private func append(_ numbers: ClosedRange<Int>, to queue: InboundQueue) -> Bool {
        var batch = ReceivedBatch(numbers.map { Received.message(numbered($0)) })
        defer { #expect(batch.isEmpty) }
        return queue.append(&batch)
    }

    @Test func `appended elements are taken in order`() async throws {
        let queue = queue()
        #expect(append(1...3, to: queue))
        for number in 1...3 { #expect(try await queue.next()?.number == number) }
    }

    @Test func `waiting tasks are served in order`() async {
        let queue = queue()
        var tasks: [Task<Int?, Never>] = []
        for _ in 1...3 { tasks.append(await started { try? await queue.next()?.number }) }
        #expect(append(1...4, to: queue))
        for (number, task) in zip(1..., tasks) { #expect(await task.value == number) }
        #expect(await outcome { () async throws(TransportError) in try await queue.next()?.number } == .success(4))
    }

    @Test func `a full queue pauses reading, and a half empty one resumes it once`() async throws {
        let rooms = Tally()
        let queue = queue(capacity: 4 * 65) { rooms.add() }
        #expect(append(1...4, to: queue), "a queue may be filled to its capacity")
        #expect(!append(5...5, to: queue))
        for _ in 1...2 { _ = try await queue.next() }
        #expect(rooms.count == 0)
        #expect(!append(6...6, to: queue), "no more elements are wanted until capacity is free")
        for _ in 3...4 { _ = try await queue.next() }
        #expect(rooms.count == 1)
        for _ in 5...6 { _ = try await queue.next() }
        #expect(rooms.count == 1)
        #expect(append(7...7, to: queue))
    }

    @Test func `an element for a waiting task uses no capacity`() async {
        let queue = queue(capacity: 64)
        let waiting = await started { try? await queue.next()?.number }
        #expect(append(1...1, to: queue))
        #expect(await waiting.value == 1)
    }

    @Test func `a cancelled wait takes nothing`() async {
        let queue = queue()
        let first = await started { await outcome { () async throws(TransportError) in try await queue.next() } }
        let second = await started { try? await queue.next()?.number }
        first.cancel()
        #expect(await first.value == .failure(.cancelled))
        #expect(append(1...1, to: queue))
        #expect(await second.value == 1)
    }

    @Test func `a cancelled task still takes an available element, and does not wait`() async {
        let queue = queue()
        #expect(append(1...1, to: queue))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let first = try? await queue.next()?.number
            return (first, await outcome { () async throws(TransportError) in try await queue.next() })
        }
        #expect(await task.value == (1, .failure(.cancelled)))
    }

    @Test func `elements received before the end are taken after it`() async throws {
        let queue = queue()
        #expect(append(1...2, to: queue))
        queue.finish(.failure(TransportError(.lost, "cut")))
        queue.finish(.success(()))
        #expect(append(3...3, to: queue), "elements after the end do not pause reading")
        for number in 1...2 { #expect(try await queue.next()?.number == number) }
        for _ in 1...2 {
            #expect(await outcome { () async throws(TransportError) in try await queue.next() } == .failure(.lost), "the first end counts")
        }
    }

    @Test func `all waiting tasks learn of the end`() async {
        let queue = queue()
        var tasks: [Task<Result<Received?, TransportError.Code>, Never>] = []
        for _ in 1...5 { tasks.append(await started { await outcome { () async throws(TransportError) in try await queue.next() } }) }
        queue.finish(.success(()))
        for task in tasks { #expect(await task.value == .success(nil)) }
    }

    @Test func `a queue is idle if all elements were taken and a task waits`() async throws {
        let idles = Tally()
        let queue = InboundQueue(capacity: 1000, onRoom: {}, onIdle: { idles.add() })
        #expect(!queue.awaitIdle(), "no task waits yet")
        #expect(append(1...1, to: queue))
        _ = try await queue.next()
        #expect(idles.count == 0)
        let waiting = await started { try? await queue.next()?.number }
        #expect(idles.count == 1)
        #expect(queue.awaitIdle())
        #expect(append(2...2, to: queue))
        #expect(await waiting.value == 2)
        #expect(idles.count == 1)
    }
}
