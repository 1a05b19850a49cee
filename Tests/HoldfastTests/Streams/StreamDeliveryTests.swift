@testable import Holdfast
import HoldfastTesting
import StreamCore
import Testing
import WebSocketCore

/// What a consumer of a typed stream gets if it is slower than the peer.
@Suite(.timeLimit(.minutes(2))) struct StreamDeliveryTests {
    @Test func `latest: a slow consumer gets only the newest value`() async throws {
        let stage = try await StreamStage()
        let stream = stage.socket.stream(of: StreamTick.self, delivery: .latest)
        var ticks = stream.makeAsyncIterator()
        for price in 1...5 { try await stage.send("A", price) }
        try await stage.settle()
        #expect(try await ticks.next()?.price == 5)
        try await stage.send("A", 6)
        #expect(try await ticks.next()?.price == 6)
        #expect(stream.counts == DeliveryCounts(received: 6, delivered: 2, conflated: 4))
    }

    @Test func `newest: the oldest values are dropped and counted`() async throws {
        let stage = try await StreamStage()
        let stream = stage.socket.stream(of: StreamTick.self, delivery: .newest(2))
        var ticks = stream.makeAsyncIterator()
        for price in 1...5 { try await stage.send("A", price) }
        try await stage.settle()
        #expect(try await ticks.next()?.price == 4)
        #expect(try await ticks.next()?.price == 5)
        #expect(stream.counts == DeliveryCounts(received: 5, delivered: 2, dropped: 3))
    }

    @Test func `latest by key: a consumer gets the newest value of each key, in the order of the first change`() async throws {
        let stage = try await StreamStage()
        let stream = stage.socket.stream(of: StreamTick.self, delivery: .latest(by: \.symbol))
        var ticks = stream.makeAsyncIterator()
        for (symbol, price) in [("B", 1), ("A", 1), ("B", 2), ("C", 1), ("A", 2)] { try await stage.send(symbol, price) }
        try await stage.settle()
        for expected in [("B", 2), ("A", 2), ("C", 1)] {
            #expect(try await ticks.next() == StreamTick(symbol: expected.0, price: expected.1))
        }
        #expect(stream.counts == DeliveryCounts(received: 5, delivered: 3, conflated: 2))
    }

    @Test func `every message in batches: no value is lost, and the peer waits for the consumer`() async throws {
        let stage = try await StreamStage()
        let stream = stage.socket.batches(of: StreamTick.self, delivery: .everyMessage(capacity: 16), upTo: 10)
        var batches = stream.makeAsyncIterator()
        let peer = stage.peer
        async let sending: Void = { for price in 1...5000 { try await StreamStage.send("A", price, over: peer) } }()
        var prices: [Int] = []
        while prices.count < 5000, let batch = try await batches.next() {
            #expect(1...10 ~= batch.count)
            prices += batch.map(\.price)
            // The buffer holds 16 values, and one more may be in progress.
            #expect(stage.decoded.count - prices.count <= 17)
        }
        try await sending
        #expect(prices == Array(1...5000))
        #expect(stream.counts == DeliveryCounts(received: 5000, delivered: 5000))
    }

    @Test func `at most n per second: the first value comes at once, the last one after the pause`() async throws {
        let stage = try await StreamStage()
        var ticks = stage.socket.stream(of: StreamTick.self, delivery: .latest.atMost(perSecond: 4)).makeAsyncIterator()
        try await stage.send("A", 1)
        #expect(try await ticks.next()?.price == 1)
        for price in 2...4 { try await stage.send("A", price) }
        try await stage.settle()
        async let passing: Void = stage.pass(.milliseconds(250))
        #expect(try await ticks.next()?.price == 4)
        await passing
    }

    @Test func `a pause that begins while the consumer waits ends in time`() async throws {
        let stage = try await StreamStage()
        var ticks = stage.socket.stream(of: StreamTick.self, delivery: .latest.atMost(perSecond: 4)).makeAsyncIterator()
        try await stage.send("A", 1)
        #expect(try await ticks.next()?.price == 1)
        async let passing: Void = {
            try await stage.send("A", 2)
            await stage.pass(.milliseconds(250))
        }()
        #expect(try await ticks.next()?.price == 2)
        try await passing
    }

    @Test func `sampled: the newest value comes at the end of the interval, unless the consumer has it already`() async throws {
        let stage = try await StreamStage()
        let stream = stage.socket.stream(of: StreamTick.self, delivery: .sampled(every: .seconds(3)))
        var ticks = stream.makeAsyncIterator()
        for price in 1...3 { try await stage.send("A", price) }
        try await stage.settle()
        async let passing: Void = stage.pass(.seconds(3))
        #expect(try await ticks.next()?.price == 3)
        await passing
        for price in [4, 3] { try await stage.send("A", price) }
        try await stage.settle()
        #expect(stream.counts == DeliveryCounts(received: 5, delivered: 1, conflated: 4))
    }

    @Test func `a batch waits for more values until its time is over`() async throws {
        let stage = try await StreamStage()
        var batches = stage.socket.batches(of: StreamTick.self, upTo: 3, within: .seconds(7)).makeAsyncIterator()
        for price in 1...4 { try await stage.send("A", price) }
        try await stage.settle()
        #expect(try await batches.next()?.map(\.price) == [1, 2, 3])
        async let passing: Void = stage.pass(.seconds(7))
        #expect(try await batches.next()?.map(\.price) == [4])
        await passing
    }

    @Test func `paced batches have the newest value of each symbol`() async throws {
        let stage = try await StreamStage()
        let stream = stage.socket.batches(of: StreamTick.self, delivery: .latest(by: \.symbol).atMost(perSecond: 4))
        var screens = stream.makeAsyncIterator()
        try await stage.send("A", 0)
        #expect(try await screens.next()?.count == 1)
        for price in 1...100 { for symbol in ["A", "B", "C"] { try await stage.send(symbol, price) } }
        try await stage.settle()
        async let passing: Void = stage.pass(.milliseconds(250))
        #expect(try await screens.next()?.map { "\($0.symbol)\($0.price)" } == ["A100", "B100", "C100"])
        await passing
        #expect(stream.counts == DeliveryCounts(received: 301, delivered: 4, conflated: 297))
    }

    @Test func `after the end a consumer gets the waiting values and then the error`() async throws {
        let stage = try await StreamStage()
        var ticks = stage.socket.stream(of: StreamTick.self, delivery: .latest(by: \.symbol)).makeAsyncIterator()
        var batches = stage.socket.batches(of: StreamTick.self, upTo: 10, within: .seconds(60)).makeAsyncIterator()
        try await stage.send("A", 1)
        try await stage.send("B", 1)
        _ = await stage.peer.close(CloseFrame(.goingAway))
        await stage.stage.pause()
        try await stage.stage.refuse(.refused(403))
        #expect(try await batches.next()?.count == 2)
        #expect(try await ticks.next()?.symbol == "A")
        #expect(try await ticks.next()?.symbol == "B")
        for _ in 1...2 {
            let error = await #expect(throws: WebSocketError.self) { _ = try await ticks.next() }
            #expect(error?.httpStatus == 403)
        }
        // A later consumer does not wait either.
        var late = stage.socket.stream(of: StreamTick.self, delivery: .latest).makeAsyncIterator()
        await #expect(throws: WebSocketError.self) { _ = try await late.next() }
    }

    @Test func `a stream ends without an error when this side closes`() async throws {
        let stage = try await StreamStage()
        var ticks = stage.socket.stream(of: StreamTick.self, delivery: .latest).makeAsyncIterator()
        async let closing: Void = stage.socket.close()
        #expect(try await ticks.next() == nil)
        await closing
    }

    @Test func `the first consumer gets the values that were read before it subscribed`() async throws {
        let stage = try await StreamStage()
        async let answer: String = stage.socket.request(.text("ask"), matching: { $0 == .text("answer") ? "answer" : nil })
        #expect(try await stage.peer.receive() == .message(.text("ask")))
        for price in 1...3 { try await stage.send("A", price) }
        try await stage.peer.send(.text("answer"))
        #expect(try await answer == "answer")
        var ticks = stage.socket.stream(of: StreamTick.self, delivery: .newest(10)).makeAsyncIterator()
        try await stage.send("A", 4)
        for price in 1...4 { #expect(try await ticks.next()?.price == price) }
    }

    @Test func `the counts of streams are in the metrics and the statistics`() async throws {
        let sight = Sight()
        let stage = try await StreamStage { sight.watch(&$0) }
        do {
            let stream = stage.socket.stream(of: StreamTick.self, delivery: .latest)
            var ticks = stream.makeAsyncIterator()
            for price in 1...3 { try await stage.send("A", price) }
            try await stage.settle()
            #expect(try await ticks.next()?.price == 3)
            #expect(stage.socket.statistics.deliveries.conflated == 2)
        }
        var every = stage.socket.stream(of: StreamTick.self).makeAsyncIterator()
        try await stage.send("A", 4)
        #expect(try await every.next()?.price == 4)
        let total = stage.socket.statistics.deliveries
        stage.socket.session.instruments.notifyTraffic()
        stage.socket.session.instruments.notifyTraffic()
        #expect(total.conflated == 2 && sight.count("stream_conflated") == 2)
        // The marks count too.
        #expect(total.received > 4 && sight.count("stream_received") == total.received)
        #expect(total.delivered > 2 && sight.count("stream_delivered") == total.delivered)
        #expect(sight.count("stream_dropped") == 0)
    }
}

extension DeliveryCounts {
    init(received: Int, delivered: Int, conflated: Int = 0, dropped: Int = 0) {
        self.init()
        (self.received, self.delivered, self.conflated, self.dropped) = (received, delivered, conflated, dropped)
    }
}
