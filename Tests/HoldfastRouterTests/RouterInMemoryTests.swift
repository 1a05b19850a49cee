import CodecCore
import Holdfast
import HoldfastRouter
import HoldfastTesting
import Testing
import WAMPCore
import WebSocketCore

/// What clients get of a router, over transports in memory.
@Suite(.timeLimit(.minutes(1))) struct RouterInMemoryTests {
    @Test(arguments: WAMPSerialization.allCases)
    func `an event reaches its subscribers, whatever they and the publisher speak`(_ spoken: WAMPSerialization) async throws {
        try await RouterStage.run { stage in
            var subscribers: [RouterGuest] = []
            for serialization in WAMPSerialization.allCases + WAMPSerialization.allCases {
                let subscriber = try await stage.member(serialization)
                _ = try await subscriber.subscribe(1, "com.app.chat")
                subscribers.append(subscriber)
            }
            let publisher = try await stage.member(spoken)
            let content: [Value] = [50, "twelve", [:], [], ["userid": 123, "list": [1, 2.5, nil, true]]]
            try await publisher.publishAcknowledged(1, "com.app.chat", content)
            for subscriber in subscribers { #expect(try await subscriber.event() == content) }
            #expect(stage.router.status.events == 6 && stage.router.status.publications == 1)
        }
    }

    @Test(arguments: WAMPSerialization.allCases)
    func `a call reaches its callee, and the result its caller`(_ spoken: WAMPSerialization) async throws {
        try await RouterStage.run { stage in
            let (callee, caller) = (try await stage.member(.cbor), try await stage.member(spoken))
            _ = try await callee.register(1, "com.app.echo")
            for request in WAMPID(1)...3 {
                try await caller.call(request, "com.app.echo", [.integer(Int64(request)), "x"])
                try await callee.answer()
                #expect(try await caller.result(of: request) == [.integer(Int64(request)), "x"])
            }
            #expect(stage.router.status.calls == 3)
        }
    }

    @Test func `bytes come to a client that speaks JSON as the text that WAMP has for them`() async throws {
        try await RouterStage.run { stage in
            let (subscriber, publisher) = (try await stage.member(.json), try await stage.member(.messagePack))
            _ = try await subscriber.subscribe(1, "com.app.bytes")
            try await publisher.publish(1, "com.app.bytes", [.bytes([0x10, 0xE2, 0xFF])])
            var texts = subscriber.connection.messages.makeAsyncIterator()
            guard case .text(let event) = try await texts.next() else { throw RouterGuest.Ended() }
            #expect(event.hasSuffix(#"["\u0000EOL/"]]"#))
        }
    }

    @Test func `with the habit of nexus bytes come to a client that speaks JSON as Base64 alone, to one and to many`() async throws {
        var quirks = RouterPolicy.Quirks()
        quirks.writesPlainBase64 = true
        try await RouterStage.run(.quiet(RouterPolicy(quirks: quirks))) { stage in
            let (one, two, publisher) = (try await stage.member(.json), try await stage.member(.json), try await stage.member(.messagePack))
            let content: Value = [.bytes([0x10, 0xE2, 0xFF]), "text"]
            // To one, and to several at once.
            for (request, subscribers) in [(WAMPID(1), [one]), (2, [one, two])] {
                _ = try await subscribers.last?.subscribe(1, "com.app.bytes")
                try await publisher.publish(request, "com.app.bytes", [content])
                for subscriber in subscribers { #expect(try await subscriber.event() == [["EOL/", "text"]]) }
            }
        }
    }

    @Test func `with a habit of Crossbar a call of an invalid URI ends the connection with 1011`() async throws {
        var quirks = RouterPolicy.Quirks()
        quirks.closesOnInvalidURIs = true
        try await RouterStage.run(.quiet(RouterPolicy(quirks: quirks))) { stage in
            let guest = try await stage.member()
            try await guest.call(1, "com..app")
            #expect(try await guest.closeCode() == 1011)
        }
    }

    @Test func `with a habit of Crossbar a router that stops is gone without a close frame`() async throws {
        var quirks = RouterPolicy.Quirks()
        quirks.goesWithoutGoodbye = true
        try await RouterStage.run(.quiet(RouterPolicy(quirks: quirks))) { stage in
            let guest = try await stage.member()
            await stage.router.stop()
            #expect(try await guest.closeCode() == nil)
        }
    }

    @Test func `a request whose id leaves some out ends the session with an ABORT, and the connection with 1002`() async throws {
        try await RouterStage.run { stage in
            let guest = try await stage.member()
            try await guest.say(.subscribe(request: 2, options: ValueMap(), topic: "com.app.chat"))
            #expect(try await guest.abort() == WAMPURI.Error.protocolViolation)
            #expect(try await guest.closeCode() == 1002)
            #expect(stage.router.status.violations == 1)
        }
    }

    @Test func `with the quirks of Crossbar the same is taken`() async throws {
        try await RouterStage.run(.quiet(RouterPolicy(quirks: .crossbar))) { stage in
            let guest = try await stage.member()
            _ = try await guest.subscribe(7, "com.app.chat")
        }
    }

    @Test func `what cannot be read ends the session with an ABORT, and the connection with 1002`() async throws {
        try await RouterStage.run { stage in
            let guest = try await stage.member()
            try await guest.connection.send(.text("[33,"))
            #expect(try await guest.abort() == WAMPURI.Error.protocolViolation)
            #expect(try await guest.closeCode() == 1002)
        }
    }

    @Test func `binary messages from a client that agreed on JSON, and texts from others, are a violation`() async throws {
        try await RouterStage.run { stage in
            let json = try await stage.member(.json)
            try await json.connection.send(.binary(Array("[32,1,{},\"com.app.chat\"]".utf8)))
            #expect(try await json.abort() == WAMPURI.Error.protocolViolation)
            let cbor = try await stage.member(.cbor)
            try await cbor.connection.send(.text("[32,1,{},\"com.app.chat\"]"))
            #expect(try await cbor.abort() == WAMPURI.Error.protocolViolation)
            #expect(try await cbor.closeCode() == 1002)
        }
    }

    /// Of three thousand bytes Base64 makes four.
    private static let small = WAMPRouterConfiguration.quiet { $0.server.limits.message = 4096 }
    private static let long: [Value] = [.bytes([UInt8](repeating: 7, count: 3060))]

    @Test func `an event longer than what the router takes is not sent, and its subscriber gets the next`() async throws {
        try await RouterStage.run(Self.small) { stage in
            let (json, cbor, publisher) = (
                try await stage.member(.json), try await stage.member(.cbor), try await stage.member(.messagePack)
            )
            for subscriber in [json, cbor] { _ = try await subscriber.subscribe(1, "com.app.bytes") }
            try await publisher.publishAcknowledged(1, "com.app.bytes", Self.long)
            try await publisher.publishAcknowledged(2, "com.app.bytes", ["short"])
            #expect(try await json.event() == ["short"])
            #expect(try await cbor.event() == Self.long)
            #expect(try await cbor.event() == ["short"])
            #expect(stage.router.status.unsayable == 1)
        }
    }

    @Test func `a call longer than what the router takes, and one with such a result, end with an error`() async throws {
        try await RouterStage.run(Self.small) { stage in
            let (json, cbor) = (try await stage.member(.json), try await stage.member(.cbor))
            _ = try await json.register(1, "com.app.json")
            _ = try await cbor.register(1, "com.app.cbor")
            try await cbor.call(2, "com.app.json", Self.long)
            #expect(try await cbor.error(of: .call, 2) == WAMPURI.Error.payloadSizeExceeded)

            let options: ValueMap = ["receive_progress": true]
            try await json.say(.call(request: 2, options: options, procedure: "com.app.cbor", .none))
            guard case .invocation(let invocation, _, _, _) = try await cbor.next() else { throw RouterGuest.Ended() }
            // Of a part the caller hears nothing, and the call goes on.
            try await cbor.say(.yield(request: invocation, options: ["progress": true], WAMPArguments(Self.long)))
            try await cbor.say(.yield(request: invocation, options: ["progress": true], WAMPArguments(["short"])))
            #expect(try await json.result(of: 2) == ["short"])
            try await cbor.say(.yield(request: invocation, options: ValueMap(), WAMPArguments(Self.long)))
            #expect(try await json.error(of: .call, 2) == WAMPURI.Error.payloadSizeExceeded)
        }
    }

    @Test func `a client that takes nothing is cut off, and nobody else waits for it`() async throws {
        let configuration = WAMPRouterConfiguration.quiet { $0.limits.waiting = 256 * 1024 }
        try await RouterStage.run(configuration) { stage in
            let (slow, quick, publisher) = (try await stage.member(), try await stage.member(), try await stage.member(.cbor))
            _ = try await slow.subscribe(1, "com.app.flood")
            _ = try await quick.subscribe(1, "com.app.flood")
            let content: [Value] = [.text(String(repeating: "x", count: 32 * 1024))]
            var request: WAMPID = 0
            while stage.router.status.overruns == 0, request < 1000 {
                request += 1
                try await publisher.publishAcknowledged(request, "com.app.flood", content)
                #expect(try await quick.event() == content)
            }
            #expect(stage.router.status.overruns == 1)
            // It gets what its connection held, and then the reason.
            #expect(try await slow.closeCode() == 1013)
            try await publisher.publishAcknowledged(request + 1, "com.app.flood", ["on"])
            #expect(try await quick.event() == ["on"])
        }
    }

    @Test func `a client that never takes anything again does not hold its connection for ever`() async throws {
        let configuration = WAMPRouterConfiguration.quiet { ($0.limits.waiting, $0.limits.closeTimeout) = (256 * 1024, .milliseconds(1)) }
        try await RouterStage.run(configuration) { stage in
            let agreement = Agreement(subprotocol: "wamp.2.json", response: ResponseHead(status: 101))
            // Its clock stands still: nothing but the router ends it.
            let (client, server) = MemoryTransport.pair(agreement: agreement, clock: ManualClock())
            async let served: Void = stage.router.serve(transport: server)
            let slow = RouterGuest(WebSocketConnection(client), .json)
            try await slow.join()
            _ = try await slow.subscribe(1, "com.app.flood")
            let publisher = try await stage.member(.cbor)
            let content: [Value] = [.text(String(repeating: "x", count: 32 * 1024))]
            var request: WAMPID = 0
            while stage.router.status.overruns == 0, request < 1000 {
                request += 1
                try await publisher.publishAcknowledged(request, "com.app.flood", content)
            }
            await served
            #expect(stage.router.status.overruns == 1 && stage.router.status.connections == 1)
            withExtendedLifetime(slow) {}
        }
    }

    @Test func `a router that stops says goodbye to all, and ends when they have answered`() async throws {
        try await RouterStage.run { stage in
            let guests = [try await stage.member(), try await stage.member(.messagePack)]
            async let stop: Void = stage.router.stop()
            for guest in guests {
                #expect(try await guest.goodbye() == WAMPURI.Close.systemShutdown)
                try await guest.say(.goodbye(details: ValueMap(), reason: WAMPURI.Close.goodbyeAndOut, .none))
            }
            await stop
            for guest in guests { #expect(try await guest.closeCode() == 1001) }
            #expect(stage.router.status.sessions == 0)
        }
    }

    @Test func `a client that does not answer the goodbye holds up the end only for so long`() async throws {
        let clock = ManualClock()
        try await RouterStage.run(clock: clock) { stage in
            let guest = try await stage.member()
            async let stop: Void = stage.router.stop()
            #expect(try await guest.goodbye() == WAMPURI.Close.systemShutdown)
            clock.advance(by: RouterPolicy().goodbyePatience)
            await stop
            #expect(try await guest.closeCode() == 1001)
        }
    }

    @Test func `a session that is over leaves its subscriptions and registrations to nobody`() async throws {
        try await RouterStage.run { stage in
            let (gone, caller) = (try await stage.member(), try await stage.member())
            _ = try await gone.register(1, "com.app.echo")
            gone.connection.abort()
            // The meta API counts it until the router knows.
            var request: WAMPID = 0
            repeat {
                request += 1
                try await caller.call(request, "wamp.session.count")
            } while try await caller.result(of: request) != [1]
            try await caller.call(request + 1, "com.app.echo")
            #expect(try await caller.error(of: .call, request + 1) == WAMPURI.Error.noSuchProcedure)
        }
    }

    @Test func `a client that says nothing is not waited for for ever`() async throws {
        let clock = ManualClock()
        try await RouterStage.run(clock: clock) { stage in
            let guest = stage.guest()
            let patience = await clock.nextSleep()
            #expect(patience == RouterPolicy().joinPatience)
            clock.advance(by: patience)
            let reason = try await guest.abort()
            #expect(reason == WAMPURI.Error.timeout)
            #expect(try await guest.closeCode() == 1000)
        }
    }

    @Test func `what a serialization has no form for arrives as what is nearest, and the call ends`() async throws {
        try await RouterStage.run { stage in
            let (callee, caller) = (try await stage.member(.messagePack), try await stage.member(.json))
            _ = try await callee.register(1, "com.app.odd")
            try await caller.call(1, "com.app.odd")
            guard case .invocation(let request, _, _, _) = try await callee.next() else { throw RouterGuest.Ended() }
            try await callee.say(.yield(request: request, options: ValueMap(), WAMPArguments([.float(.nan), 1])))
            #expect(try await caller.result(of: 1) == [nil, 1])
        }
    }

    @Test func `of a client that publishes faster than the router works nothing is lost`() async throws {
        let configuration = WAMPRouterConfiguration.quiet { $0.limits.unheard = 1024 }
        try await RouterStage.run(configuration) { stage in
            let (subscriber, publisher) = (try await stage.member(), try await stage.member(.messagePack))
            _ = try await subscriber.subscribe(1, "com.app.ticks")
            async let published: Void = {
                for request in WAMPID(1)...2000 { try await publisher.publish(request, "com.app.ticks", [.integer(Int64(request))]) }
            }()
            for number in Int64(1)...2000 { #expect(try await subscriber.event() == [.integer(number)]) }
            try await published
        }
    }
}
