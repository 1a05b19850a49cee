import Holdfast
import HoldfastTesting
import Testing
import WebSocketCore

/// Several consumers of one socket.
@Suite(.timeLimit(.minutes(2))) struct EventsTests {
    /// Reads messages until the end or up to this number.
    private static func numbers(_ events: WebSocketEvents, _ count: Int = .max) async -> [Message] {
        var seen: [Message] = []
        for await case .message(let message) in events {
            seen.append(message)
            if seen.count == count { break }
        }
        return seen
    }

    private static func expected(_ range: some Sequence<Int>) -> [Message] { range.map { .text("\($0)") } }

    /// Sends the numbers and waits until they have arrived.
    private func send(_ range: ClosedRange<Int>, from peer: MemoryTransport) async throws {
        for number in range { try await peer.send(.text("\(number)")) }
        _ = try await peer.ping(timeout: .seconds(20))
    }

    @Test(arguments: [1, 2, 5, 20])
    func `every consumer gets every message in order`(_ count: Int) async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let (arrivals, arrive) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: [Message].self) { group in
            for _ in 0..<count {
                group.addTask {
                    var reader = stage.eventReader()
                    arrive.yield()
                    var seen: [Message] = []
                    while let event = await reader.next() { if case .message(let message) = event { seen.append(message) } }
                    return seen
                }
            }
            var arrived = arrivals.makeAsyncIterator()
            for _ in 0..<count { await arrived.next() }
            for number in 1...500 { try await peer.send(.text("\(number)")) }
            _ = await peer.close(CloseFrame(.normal))
            for try await seen in group { #expect(seen == Self.expected(1...500)) }
        }
    }

    @Test func `a cancelled consumer stops though more events wait, and the next one gets those`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        try await send(1...20, from: peer)
        let cancelled = Task {
            var seen: [Message] = []
            for try await message in stage.socket.messages {
                seen.append(message)
                withUnsafeCurrentTask { $0?.cancel() }
            }
            return seen
        }
        #expect(try await cancelled.value == Self.expected(1...1))
        #expect(await Self.numbers(stage.socket.events, 19) == Self.expected(2...20))
    }

    @Test func `a later consumer gets the events from then on`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var first = stage.eventReader()
        #expect(await first.next() == .opened)
        try await send(1...2, from: peer)
        for number in 1...2 { #expect(await first.next() == .message(.text("\(number)"))) }
        var second = stage.eventReader()
        try await send(3...3, from: peer)
        #expect(await second.next() == .message(.text("3")))
        #expect(await first.next() == .message(.text("3")))
    }

    @Test func `a consumer that leaves takes no events from the others`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var staying = stage.eventReader()
        var leaving: EventReader? = stage.eventReader()
        while let event = await leaving?.next(), event != .opened {}
        try await send(1...10, from: peer)
        while let event = await leaving?.next(), event != .message(.text("10")) {}
        leaving = nil
        #expect(await staying.next() == .opened)
        for number in 1...10 { #expect(await staying.next() == .message(.text("\(number)"))) }
    }

    @Test func `a slow consumer delays the others until it leaves`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var slow: WebSocketEvents.AsyncIterator? = stage.socket.events(buffering: .suspend(capacity: 4)).makeAsyncIterator()
        var quick = stage.eventReader()
        try await send(1...10, from: peer)
        let reading = Task { () -> [Message] in
            var seen: [Message] = []
            while seen.count < 10 { if case .message(let message)? = await quick.next() { seen.append(message) } }
            return seen
        }
        // The other consumer is limited by the slow one: both buffers hold the events, with the states and the opening.
        var taken = 0
        while taken < 4, await slow?.next() != nil { taken += 1 }
        slow = nil
        #expect(await reading.value == Self.expected(1...10))
    }

    @Test func `a consumer that drops events delays nobody, and gets the number of missed events and the end`() async throws {
        var configuration = WebSocketConfiguration()
        (configuration.limits.receiveBuffer, configuration.limits.sendBuffer) = (1000, 1000)
        let stage = Stage(configuration: configuration)
        var iterator = stage.socket.events(buffering: .dropOldest(capacity: 5)).makeAsyncIterator()
        let peer = try await stage.accept()
        // No consumer reads, and the peer does not wait.
        for number in 1...2000 { try await peer.send(.text("\(number)")) }
        _ = await peer.close(CloseFrame(.normal))
        await stage.state { if case .closed = $0 { true } else { false } }
        var (missed, kept, last) = (0, 0, WebSocketEvent?.none)
        while let event = await iterator.next() {
            if case .missed(let count) = event { missed += count } else { kept += 1 }
            last = event
        }
        #expect(missed + kept >= 2000 && kept <= 2000)
        guard case .closed? = last else { return #expect(Bool(false), "\(String(describing: last))") }
    }

    @Test func `a latest consumer gets the newest event that was read`() async throws {
        let stage = Stage()
        var iterator = stage.socket.events(buffering: .latest).makeAsyncIterator()
        var following = stage.eventReader()
        let peer = try await stage.accept()
        try await send(1...100, from: peer)
        while await following.next() != .message(.text("100")) {}
        guard case .missed? = await iterator.next(), case .message(.text("100"))? = await iterator.next() else {
            return #expect(Bool(false), "the newest event is missing")
        }
    }

    @Test func `every consumer gets the end once, even a late one`() async throws {
        let stage = Stage()
        let bufferings: [EventBuffering] = [.suspend(), .dropOldest(capacity: 2), .latest]
        var iterators = bufferings.map { stage.socket.events(buffering: $0).makeAsyncIterator() }
        _ = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        await stage.socket.close()
        iterators += bufferings.map { stage.socket.events(buffering: $0).makeAsyncIterator() }
        for index in iterators.indices {
            var ends = 0
            while let event = await iterators[index].next() {
                #expect(ends == 0, "no event follows the end")
                if case .closed = event { ends += 1 }
            }
            #expect(ends == 1)
        }
    }

    @Test func `when the reading consumer is cancelled, another one reads on and no message is lost`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let staying = Task { await Self.numbers(stage.socket.events, 200) }
        for round in 1...200 {
            let leaving = Task { await Self.numbers(stage.socket.events) }
            try await peer.send(.text("\(round)"))
            if round.isMultiple(of: 3) { _ = try await peer.ping(timeout: .seconds(20)) }
            leaving.cancel()
            _ = await leaving.value
        }
        let seen = await staying.value
        #expect(seen.count == 200 && seen == seen.sorted { $0.number < $1.number })
    }

    @Test func `the pump ends with the last dropping consumer, and no event is lost`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var reader = stage.eventReader()
        #expect(await reader.next() == .opened)
        for round in 1...50 {
            do {
                let dropping = stage.socket.events(buffering: .latest).makeAsyncIterator()
                try await peer.send(.text("\(2 * round)"))
                withExtendedLifetime(dropping) {}
            }
            try await peer.send(.text("\(2 * round + 1)"))
            for number in [2 * round, 2 * round + 1] { #expect(await reader.next() == .message(.text("\(number)"))) }
        }
    }

    @Test func `events without consumers are limited, and the next consumer gets the number of missed ones`() async throws {
        let stage = Stage { $0.reconnect.spacing = .zero }
        for _ in 1...100 {
            await stage.state { if case .connecting = $0 { true } else { false } }
            await stage.socket.notify(.suspended)
            await stage.state { if case .held = $0 { true } else { false } }
            await stage.socket.notify(.foreground)
        }
        await stage.socket.close()
        var events: [WebSocketEvent] = []
        for await event in stage.socket.events { events.append(event) }
        guard case .missed(let count)? = events.first else { return #expect(Bool(false), "no hole") }
        #expect(count > 100 && events.count < 70)
    }
}

extension Message {
    fileprivate var number: Int { if case .text(let text) = self { Int(text) ?? 0 } else { 0 } }
}
