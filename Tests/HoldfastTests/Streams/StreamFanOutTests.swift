import CodecCore
@testable import Holdfast
import HoldfastTesting
import WebSocketRuntime
import StreamCore
import Testing
import WebSocketCore

/// Many consumers of one socket, with their own speeds and filters.
@Suite(.timeLimit(.minutes(2))) struct StreamFanOutTests {
    @Test func `a slow consumer does not delay the others, and ends with the newest value of each key`() async throws {
        let stage = try await StreamStage()
        let slow = stage.socket.stream(of: StreamTick.self, delivery: .latest(by: \.symbol))
        let fast = stage.socket.stream(of: StreamTick.self)
        let peer = stage.peer
        let (updates, update) = AsyncStream.makeStream(of: Void.self)
        let (begun, begin) = AsyncStream.makeStream(of: Never.self)
        var fastTicks = fast.makeAsyncIterator()
        async let shown: [String: Int] = {
            var shown: [String: Int] = [:]
            var slowTicks = slow.makeAsyncIterator()
            begin.finish()
            for await _ in updates {
                guard let tick = try await slowTicks.next() else { break }
                #expect(tick.price > shown[tick.symbol] ?? 0)
                shown[tick.symbol] = tick.price
            }
            while let tick = try await slowTicks.next() {
                #expect(tick.price > shown[tick.symbol] ?? 0)
                shown[tick.symbol] = tick.price
            }
            return shown
        }()
        for await _ in begun {}
        async let sending: Void = {
            for price in 1...1000 { for symbol in 0..<10 { try await StreamStage.send("\(symbol)", price, over: peer) } }
            _ = await peer.close(CloseFrame(.normal))
        }()
        var count = 0
        while try await fastTicks.next() != nil {
            count += 1
            if count.isMultiple(of: 100) { update.yield() }
        }
        update.finish()
        try await sending
        #expect(count == 10_000)
        #expect(try await shown == Dictionary(uniqueKeysWithValues: (0..<10).map { ("\($0)", 1000) }))
        #expect(slow.counts.received == 10_000 && slow.counts.dropped == 0)
        #expect(slow.counts.delivered + slow.counts.conflated == 10_000)
    }

    @Test func `a message is decoded once for all consumers of one type`() async throws {
        let stage = try await StreamStage()
        var consumers = (0..<5).map { _ in
            stage.socket.stream(of: StreamTick.self, delivery: .newest(10)).makeAsyncIterator()
        }
        for price in 1...3 { try await stage.send("A", price) }
        for index in consumers.indices { for price in 1...3 { #expect(try await consumers[index].next()?.price == price) } }
        #expect(stage.decoded.count == 3)
    }

    @Test func `an undecodable message is reported once per decoding, and the others arrive`() async throws {
        let stage = try await StreamStage()
        var events = stage.socket.events.makeAsyncIterator()
        var one = stage.socket.stream(of: StreamTick.self, delivery: .newest(10)).makeAsyncIterator()
        var other = stage.socket.stream(of: StreamTick.self, delivery: .latest(byField: "symbol")).makeAsyncIterator()
        try await stage.send("A", 1)
        try await stage.peer.send(.text(#"{"symbol":"B"}"#))
        try await stage.send("C", 3)
        #expect(try await one.next()?.symbol == "A")
        #expect(try await one.next()?.symbol == "C")
        var seen: [Message] = []
        while seen.count < 1, let event = await events.next() {
            if case .undecodable(let undecodable) = event { seen.append(undecodable.message) }
        }
        #expect(try await other.next()?.symbol == "A")
        #expect(try await other.next()?.symbol == "C")
        await stage.socket.close()
        while let event = await events.next() {
            if case .undecodable(let undecodable) = event { seen.append(undecodable.message) }
        }
        // The second consumer has another kind of delivery, so it decodes for itself.
        #expect(seen == [.text(#"{"symbol":"B"}"#), .text(#"{"symbol":"B"}"#)])
    }

    @Test func `a filtered consumer gets only its messages, and no others are decoded`() async throws {
        let stage = try await StreamStage()
        var sail = stage.socket.stream(of: StreamTick.self, where: .field("symbol", is: "SAIL")).makeAsyncIterator()
        var three = stage.socket.stream(of: StreamTick.self, where: .field("price", is: 3), delivery: .newest(5)).makeAsyncIterator()
        for price in 1...4 { for symbol in ["ROPE", "SAIL", "MAST"] { try await stage.send(symbol, price) } }
        for price in 1...4 { #expect(try await sail.next() == StreamTick(symbol: "SAIL", price: price)) }
        for symbol in ["ROPE", "SAIL", "MAST"] { #expect(try await three.next() == StreamTick(symbol: symbol, price: 3)) }
        #expect(stage.decoded.count == 6)
    }

    @Test func `with two thousand topics each message goes to its own consumer`() async throws {
        let stage = try await StreamStage()
        let topics = (0..<2000).map { topic in
            stage.socket.stream(of: StreamTick.self, where: .field("symbol", is: "topic \(topic)"), delivery: .newest(10))
        }
        var consumers = topics.map { $0.makeAsyncIterator() }
        for topic in consumers.indices { try await stage.send("topic \(topic)", topic) }
        try await stage.send("no topic", 0)
        try await stage.settle()
        for topic in consumers.indices { #expect(try await consumers[topic].next()?.price == topic) }
        #expect(topics.allSatisfy { $0.counts == DeliveryCounts(received: 1, delivered: 1) })
        #expect(stage.decoded.count == 2000)
        consumers = []
        #expect(stage.socket.hub.lanes.isEmpty && stage.socket.hub.isHeld.isEmpty)
    }

    @Test func `a full topic stops the reading until its consumer reads, and the others get their messages`() async throws {
        let stage = try await StreamStage()
        let delivery = StreamDelivery<StreamTick>.everyMessage(capacity: 4)
        var sail = stage.socket.stream(of: StreamTick.self, where: .field("symbol", is: "SAIL"), delivery: delivery).makeAsyncIterator()
        var rope = stage.socket.stream(of: StreamTick.self, where: .field("symbol", is: "ROPE"), delivery: delivery).makeAsyncIterator()
        let peer = stage.peer
        async let sending: Void = {
            for price in 1...300 { for symbol in ["ROPE", "SAIL"] { try await StreamStage.send(symbol, price, over: peer) } }
        }()
        for price in 1...4 { #expect(try await rope.next()?.price == price) }
        #expect(stage.decoded.count <= 10)
        for price in 1...300 {
            #expect(try await sail.next()?.price == price)
            if price > 4 { #expect(try await rope.next()?.price == price) }
        }
        try await sending
    }

    @Test func `latest by field: replaced messages are never decoded`() async throws {
        let stage = try await StreamStage()
        let stream = stage.socket.stream(of: StreamTick.self, delivery: .latest(byField: "symbol"))
        var ticks = stream.makeAsyncIterator()
        for price in 1...100 { for symbol in ["A", "B"] { try await stage.send(symbol, price) } }
        try await stage.settle()
        #expect(try await ticks.next() == StreamTick(symbol: "A", price: 100))
        #expect(try await ticks.next() == StreamTick(symbol: "B", price: 100))
        #expect(stage.decoded.count == 2)
        #expect(stream.counts.conflated == 198)
    }

    @Test func `latest by field works in batches and at a pace`() async throws {
        let stage = try await StreamStage()
        var screens = stage.socket.batches(of: StreamTick.self, delivery: .latest(byField: "symbol").atMost(perSecond: 4))
            .makeAsyncIterator()
        try await stage.send("A", 1)
        #expect(try await screens.next() == [StreamTick(symbol: "A", price: 1)])
        for price in 2...9 { for symbol in ["A", "B"] { try await stage.send(symbol, price) } }
        try await stage.settle()
        async let passing: Void = stage.pass(.milliseconds(250))
        #expect(try await screens.next() == [StreamTick(symbol: "A", price: 9), StreamTick(symbol: "B", price: 9)])
        await passing
    }

    @Test func `a filter by field of an unknown format fails at once`() async throws {
        let stage = try await StreamStage()
        let decoding = MessageDecoding<Int>("runes") { _, _ in 0 }
        var filtered = stage.socket.stream(by: decoding, where: .field("a", is: "b")).makeAsyncIterator()
        var keyed = stage.socket.batches(by: decoding, delivery: .latest(byField: "a")).makeAsyncIterator()
        for _ in 1...2 {
            #expect(await code { () async throws(WebSocketError) in _ = try await filtered.next() } == .invalidConfiguration)
            #expect(await code { () async throws(WebSocketError) in _ = try await keyed.next() } == .invalidConfiguration)
        }
        // With a given format the filter works.
        var withFormat = stage.socket.stream(by: decoding, where: .field("symbol", is: "A", format: .json)).makeAsyncIterator()
        try await stage.send("A", 1)
        #expect(try await withFormat.next() == 0)
    }

    @Test func `streams continue over all connections`() async throws {
        let stage = try await StreamStage()
        let stream = stage.socket.stream(of: StreamTick.self, delivery: .latest(by: \.symbol))
        var ticks = stream.makeAsyncIterator()
        try await stage.send("A", 1)
        try await stage.send("B", 1)
        try await stage.settle()
        stage.peer.cut()
        await stage.stage.pause()
        let second = try await stage.stage.accept()
        try await StreamStage.send("A", 2, over: second)
        try await stage.settle(over: second)
        #expect(try await ticks.next() == StreamTick(symbol: "A", price: 2))
        #expect(try await ticks.next() == StreamTick(symbol: "B", price: 1))
    }

    @Test(arguments: [0, 1, 2, 3])
    func `a cancelled consumer ends wherever it waits, and leaves nothing behind`(_ place: Int) async throws {
        let stage = try await StreamStage()
        let deliveries: [StreamDelivery<StreamTick>] = [
            .latest, .sampled(every: .seconds(11)), .everyMessage(), .latest(byField: "symbol"),
        ]
        let stream = stage.socket.stream(of: StreamTick.self, delivery: deliveries[place])
        let task = Task {
            var ticks: [StreamTick] = []
            for try await tick in stream { ticks.append(tick) }
            return ticks
        }
        try await stage.send("A", 1)
        // The consumer has the first value, or waits for the end of the interval.
        if place == 1 {
            while await stage.stage.clock.nextSleep() != .seconds(11) {}
        } else {
            #expect(await Sight.eventually { stream.counts.delivered == 1 })
        }
        task.cancel()
        #expect(try await task.value.count == (place == 1 ? 0 : 1))
        #expect(stage.socket.hub.lanes.isEmpty && stage.socket.hub.isHeld.isEmpty)
        #expect(stream.counts.received == 1)
        // The next consumer finds the socket unchanged.
        try await stage.send("A", 2)
        var ticks = stage.socket.stream(of: StreamTick.self).makeAsyncIterator()
        #expect(try await ticks.next()?.price == 2)
    }

    @Test func `a consumer cancelled before it begins gets nothing`() async throws {
        let stage = try await StreamStage()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var ticks = stage.socket.stream(of: StreamTick.self, delivery: .latest).makeAsyncIterator()
            return try await ticks.next()
        }
        #expect(try await task.value == nil)
    }

    @Test(arguments: [StreamDelivery<StreamTick>.newest(10), .everyMessage(), .latest(byField: "symbol")])
    func `a cancelled consumer ends though more values wait`(_ delivery: StreamDelivery<StreamTick>) async throws {
        let stage = try await StreamStage()
        let stream = stage.socket.stream(of: StreamTick.self, delivery: delivery)
        let task = Task {
            var ticks = stream.makeAsyncIterator()
            for symbol in ["A", "B", "C"] { try await stage.send(symbol, 1) }
            try await stage.settle()
            #expect(try await ticks.next()?.symbol == "A")
            withUnsafeCurrentTask { $0?.cancel() }
            return try await ticks.next()
        }
        #expect(try await task.value == nil)
    }

    @Test func `a full consumer that leaves does not block the others`() async throws {
        let stage = try await StreamStage()
        var full: WebSocketStreamBatches<StreamTick>.AsyncIterator? = stage.socket.batches(
            of: StreamTick.self, delivery: .everyMessage(capacity: 1)
        ).makeAsyncIterator()
        var others = stage.socket.stream(of: StreamTick.self, delivery: .newest(100)).makeAsyncIterator()
        for price in 1...50 { try await stage.send("A", price) }
        #expect(try await others.next()?.price == 1)
        _ = full
        full = nil
        for price in 2...50 { #expect(try await others.next()?.price == price) }
    }

    @Test func `the socket is released with its last consumer`() async throws {
        weak var socket: WebSocket?
        do {
            let stage = try await StreamStage()
            socket = stage.socket
            var ticks = stage.socket.stream(of: StreamTick.self, delivery: .latest.atMost(perSecond: 10)).makeAsyncIterator()
            try await stage.send("A", 1)
            #expect(try await ticks.next()?.price == 1)
        }
        #expect(await Sight.eventually { socket == nil })
    }
}
