import CodecCore
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import Logging
import WebSocketRuntime
import Testing
import WAMPCore

@Suite("Subscriptions", .timeLimit(.minutes(1))) struct SubscriptionTests {
    @Test("an event has the declared content, its publication and its publisher", arguments: WAMPSerialization.allCases)
    func typed(_ serialization: WAMPSerialization) async throws {
        let (stage, peer) = try await WAMPStage.joined(serialization)
        async let events = stage.wamp.subscribe(Topic<API.User>("com.app.users"))
        #expect(try await peer.subscribe(as: 5).topic == "com.app.users")
        try await peer.event(
            5, 77, [["id": 1, "name": "ann"]], details: ["publisher": 12, "publisher_authid": "bob", "retained": true, "more": 1])
        var iterator = try await events.makeAsyncIterator()
        let event = try #require(try await iterator.next())
        #expect(event.content == API.User(id: 1, name: "ann"))
        #expect(event.publication == 77)
        #expect(event.publisher == 12)
        #expect(event.publisherAuthID == "bob")
        #expect(event.isRetained)
        #expect(event.topic == "com.app.users")
    }

    @Test("several subscribers of a topic share one subscription, and ending one does not end another")
    func shared() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let first = stage.wamp.subscribe(API.chat)
        try await peer.subscribe(as: 5)
        let one = try await first
        var two: Events<String>? = try await stage.wamp.subscribe(API.chat)
        let three = try await stage.wamp.subscribe(API.chat)
        try await peer.event(5, 1, ["hi"])
        for events in [one, three, try #require(two)] {
            var iterator = events.makeAsyncIterator()
            #expect(try await iterator.next()?.content == "hi")
        }
        // One stream is ended, another is released.
        one.end()
        two = nil
        try await peer.event(5, 2, ["there"])
        var ended = one.makeAsyncIterator()
        #expect(try await ended.next() == nil)
        var last = three.makeAsyncIterator()
        #expect(try await last.next()?.content == "there")
        // After the single SUBSCRIBE only this call was sent; the last stream unsubscribes.
        async let pong: Void = stage.wamp.call(API.ping)
        try await peer.answer(peer.call())
        try await pong
        three.end()
        let message = try await peer.next()
        guard case .unsubscribe(_, subscription: 5)? = message else { throw WAMPPeer.Mismatch(message: message) }
    }

    @Test("after a reconnect the topic is subscribed again with all options, and the stream has a gap")
    func reconnect() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let options = SubscribeOptions(wantsRetained: true, other: ["x_key": "v"])
        async let subscribing = stage.wamp.subscribe("com.app.", match: .prefix, options: options)
        let before = try await peer.subscribe(as: 5)
        let events = try await subscribing
        try await peer.event(5, 1, ["one"], details: ["topic": "com.app.a"])
        peer.transport.cut()
        let other = try await stage.acceptAgain()
        let after = try await other.subscribe(as: 9)
        #expect(after.topic == before.topic)
        #expect(after.options["match"] == "prefix")
        #expect(after.options["x_key"] == "v")
        #expect(after.options["get_retained"] == before.options["get_retained"])
        try await other.event(9, 2, ["two"], details: ["topic": "com.app.b"])
        var items = events.withGaps.makeAsyncIterator()
        guard case .event(let one)? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(one.topic == "com.app.a")
        guard case .gap(.reconnected)? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
        guard case .event(let two)? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(two.topic == "com.app.b")
        #expect(two.content == WAMPArguments(["two"]))
    }

    @Test("a slow subscriber gets the number of dropped events and delays no other subscriber")
    func slow() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let subscribing = stage.wamp.subscribe(API.chat, buffer: .dropOldest(capacity: 2))
        try await peer.subscribe(as: 5)
        let slow = try await subscribing
        let fast = try await stage.wamp.subscribe(API.chat)
        for number in 1...5 { try await peer.event(5, WAMPID(number), [.text("\(number)")]) }
        var texts: [String] = []
        var iterator = fast.makeAsyncIterator()
        while texts.count < 5, let event = try await iterator.next() { texts.append(event.content) }
        #expect(texts == ["1", "2", "3", "4", "5"])
        var items = slow.withGaps.makeAsyncIterator()
        guard case .gap(.dropped(3))? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
        guard case .event(let four)? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(four.content == "4")
    }

    @Test("an event of another type is missing from the events and an item of its own among the items")
    func undecodable() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let subscribing = stage.wamp.subscribe(Topic<Int>("com.app.numbers"))
        try await peer.subscribe(as: 5)
        let events = try await subscribing
        let others = try await stage.wamp.subscribe(Topic<Int>("com.app.numbers"))
        try await peer.event(5, 1, ["none"])
        try await peer.event(5, 2, [2])
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next()?.content == 2)
        var items = others.withGaps.makeAsyncIterator()
        guard case .undecodable(let error)? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(error.request == "EVENT com.app.numbers")
    }

    @Test("a refused subscription throws, and a cancelled one is unsubscribed")
    func refused() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let subscribing = Task { try await stage.wamp.subscribe(API.chat) }
        guard case .subscribe(let request, _, _)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        try await peer.send(.error(.subscribe, request: request, details: [:], uri: WAMPURI.Error.notAuthorized, .none))
        let error = await #expect(throws: WAMPError.self) { _ = try await subscribing.value }
        #expect(error?.uri == WAMPURI.Error.notAuthorized)
        #expect(error?.request == "SUBSCRIBE com.app.chat")

        let cancelled = Task { _ = try await stage.wamp.subscribe(Topic<Int>("com.app.numbers")) }
        guard case .subscribe(let second, _, _)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        cancelled.cancel()
        #expect(await #expect(throws: WAMPError.self) { try await cancelled.value }?.code == .cancelled)
        try await peer.send(.subscribed(request: second, subscription: 6))
        let message = try await peer.next()
        guard case .unsubscribe(_, subscription: 6)? = message else { throw WAMPPeer.Mismatch(message: message) }
    }

    @Test("streams end without an error when the client is closed")
    func closed() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let subscribing = stage.wamp.subscribe(API.chat)
        try await peer.subscribe(as: 5)
        let events = try await subscribing
        async let closing: Void = stage.wamp.close()
        let message = try await peer.next()
        guard case .goodbye? = message else { throw WAMPPeer.Mismatch(message: message) }
        try await peer.send(.goodbye(details: [:], reason: WAMPURI.Close.goodbyeAndOut, .none))
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next() == nil)
        #expect(try await peer.next() == nil)
        await closing
    }

    @Test("events of several types on one topic are decoded by their type number")
    func types() async throws {
        enum Ride: Hashable, Sendable { case moved(API.User), ended(id: Int, note: String), other(Value) }
        struct Ended: Decodable, Sendable {
            let id: Int
            let note: String
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                _ = try list.decode(Int.self)
                id = try list.decode(Int.self)
                _ = try list.decode(Value.self)
                note = try list.decode(String.self)
            }
        }
        let types = EventTypes<Ride>(at: .place(0))
            .with(50, as: API.User.self, in: .place(1)) { .moved($0) }
            .with(51, as: Ended.self) { .ended(id: $0.id, note: $0.note) }
            .otherwise { name, _ in .other(name) }
        for serialization in WAMPSerialization.allCases {
            let (stage, peer) = try await WAMPStage.joined(serialization)
            async let subscribing = stage.wamp.subscribe(Topic("com.app.rides", form: types.form))
            try await peer.subscribe(as: 5)
            let events = try await subscribing
            try await peer.event(5, 1, [50, ["id": 1, "name": "ann"]])
            try await peer.event(5, 2, [51, 7_814_135, [:], "done"])
            try await peer.event(5, 3, [52])
            var iterator = events.makeAsyncIterator()
            #expect(try await iterator.next()?.content == .moved(API.User(id: 1, name: "ann")))
            #expect(try await iterator.next()?.content == .ended(id: 7_814_135, note: "done"))
            #expect(try await iterator.next()?.content == .other(52))
        }
    }

    @Test("the content of an event of unknown type stays out of the log")
    func secret() async throws {
        let (log, lines) = LineLog.make()
        var options = WAMPOptions()
        options.logger = log
        let (stage, peer) = try await WAMPStage.joined(options: options)
        let types = EventTypes<Int>(at: .place(0)).with(1, as: Int.self, in: .place(1)) { $0 }
        async let subscribing = stage.wamp.subscribe(Topic<Int>("com.app.kinds", form: types.form))
        try await peer.subscribe(as: 5)
        let events = try await subscribing
        try await peer.event(5, 1, [["name": "hush"]])
        try await peer.event(5, 2, ["hush", 2])
        try await peer.event(5, 3, [1, "hush"])
        try await peer.event(5, 4, [1, 4])
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next()?.content == 4)
        let all = lines.all
        #expect(all.count { $0 == "EVENT com.app.kinds carried a value of an unexpected type" } == 3)
        #expect(!all.joined().contains("hush"))
    }
}
