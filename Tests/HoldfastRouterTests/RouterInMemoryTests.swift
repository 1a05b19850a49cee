import CodecCore
import Holdfast
import HoldfastRouter
import HoldfastTesting
import Testing
import WAMPCore
import WebSocketCore

/// Clients of a router in memory.
@Suite(.timeLimit(.minutes(1))) struct RouterInMemoryTests {
    @Test(arguments: WAMPSerialization.allCases)
    func `an event reaches its subscribers in any combination of serializations`(_ spoken: WAMPSerialization) async throws {
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

    @Test func `bytes reach a JSON client in the text form of WAMP`() async throws {
        try await RouterStage.run { stage in
            let (subscriber, publisher) = (try await stage.member(.json), try await stage.member(.messagePack))
            _ = try await subscriber.subscribe(1, "com.app.bytes")
            try await publisher.publish(1, "com.app.bytes", [.bytes([0x10, 0xE2, 0xFF])])
            var texts = subscriber.connection.messages.makeAsyncIterator()
            guard case .text(let event) = try await texts.next() else { throw RouterGuest.Ended() }
            #expect(event.hasSuffix(#"["\u0000EOL/"]]"#))
        }
    }

    @Test func `with the quirk of nexus bytes reach one or several JSON clients as plain Base64`() async throws {
        var quirks = RouterPolicy.Quirks()
        quirks.writesPlainBase64 = true
        try await RouterStage.run(.quiet(RouterPolicy(quirks: quirks))) { stage in
            let (one, two, publisher) = (try await stage.member(.json), try await stage.member(.json), try await stage.member(.messagePack))
            let content: Value = [.bytes([0x10, 0xE2, 0xFF]), "text"]
            // To one client, and to several at once.
            for (request, subscribers) in [(WAMPID(1), [one]), (2, [one, two])] {
                _ = try await subscribers.last?.subscribe(1, "com.app.bytes")
                try await publisher.publish(request, "com.app.bytes", [content])
                for subscriber in subscribers { #expect(try await subscriber.event() == [["EOL/", "text"]]) }
            }
        }
    }

    @Test func `with the quirk of Crossbar a call of an invalid URI closes the connection with 1011`() async throws {
        var quirks = RouterPolicy.Quirks()
        quirks.closesOnInvalidURIs = true
        try await RouterStage.run(.quiet(RouterPolicy(quirks: quirks))) { stage in
            let guest = try await stage.member()
            try await guest.call(1, "com..app")
            #expect(try await guest.closeCode() == 1011)
        }
    }

    @Test func `with the quirk of Crossbar a stopping router closes without a close frame`() async throws {
        var quirks = RouterPolicy.Quirks()
        quirks.goesWithoutGoodbye = true
        try await RouterStage.run(.quiet(RouterPolicy(quirks: quirks))) { stage in
            let guest = try await stage.member()
            await stage.router.stop()
            #expect(try await guest.closeCode() == nil)
        }
    }

    @Test func `a skipped request id ends the session with ABORT and the connection with 1002`() async throws {
        try await RouterStage.run { stage in
            let guest = try await stage.member()
            try await guest.say(.subscribe(request: 2, options: ValueMap(), topic: "com.app.chat"))
            #expect(try await guest.abort() == WAMPURI.Error.protocolViolation)
            #expect(try await guest.closeCode() == 1002)
            #expect(stage.router.status.violations == 1)
        }
    }

    @Test func `with the quirks of Crossbar a skipped request id is accepted`() async throws {
        try await RouterStage.run(.quiet(RouterPolicy(quirks: .crossbar))) { stage in
            let guest = try await stage.member()
            _ = try await guest.subscribe(7, "com.app.chat")
        }
    }

    @Test func `an undecodable message ends the session with ABORT and the connection with 1002`() async throws {
        try await RouterStage.run { stage in
            let guest = try await stage.member()
            try await guest.connection.send(.text("[33,"))
            #expect(try await guest.abort() == WAMPURI.Error.protocolViolation)
            #expect(try await guest.closeCode() == 1002)
        }
    }

    @Test func `a message of the wrong kind for the agreed serialization is a violation`() async throws {
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

    /// Base64 turns three thousand bytes into four thousand characters.
    private static let small = WAMPRouterConfiguration.quiet { $0.server.limits.message = 4096 }
    private static let long: [Value] = [.bytes([UInt8](repeating: 7, count: 3060))]

    @Test func `an oversized event is not sent, and its subscriber gets the next one`() async throws {
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

    @Test func `an oversized call and a call with an oversized result end with an error`() async throws {
        try await RouterStage.run(Self.small) { stage in
            let (json, cbor) = (try await stage.member(.json), try await stage.member(.cbor))
            _ = try await json.register(1, "com.app.json")
            _ = try await cbor.register(1, "com.app.cbor")
            try await cbor.call(2, "com.app.json", Self.long)
            #expect(try await cbor.error(of: .call, 2) == WAMPURI.Error.payloadSizeExceeded)

            let options: ValueMap = ["receive_progress": true]
            try await json.say(.call(request: 2, options: options, procedure: "com.app.cbor", .none))
            guard case .invocation(let invocation, _, _, _) = try await cbor.next() else { throw RouterGuest.Ended() }
            // An oversized progressive result is dropped, and the call continues.
            try await cbor.say(.yield(request: invocation, options: ["progress": true], WAMPArguments(Self.long)))
            try await cbor.say(.yield(request: invocation, options: ["progress": true], WAMPArguments(["short"])))
            #expect(try await json.result(of: 2) == ["short"])
            try await cbor.say(.yield(request: invocation, options: ValueMap(), WAMPArguments(Self.long)))
            #expect(try await json.error(of: .call, 2) == WAMPURI.Error.payloadSizeExceeded)
        }
    }

    @Test func `a client that does not read is cut off and delays no other client`() async throws {
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
            // The client gets the messages in its connection and then the reason.
            #expect(try await slow.closeCode() == 1013)
            try await publisher.publishAcknowledged(request + 1, "com.app.flood", ["on"])
            #expect(try await quick.event() == ["on"])
        }
    }

    @Test func `a client that never reads again does not keep its connection open`() async throws {
        let configuration = WAMPRouterConfiguration.quiet { ($0.limits.waiting, $0.limits.closeTimeout) = (256 * 1024, .milliseconds(1)) }
        try await RouterStage.run(configuration) { stage in
            let agreement = Agreement(subprotocol: "wamp.2.json", response: ResponseHead(status: 101))
            // The manual clock stands still, so only the router ends the connection.
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

    @Test func `a stopping router says goodbye to all clients and ends after their answers`() async throws {
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

    @Test func `a client without an answer to GOODBYE delays the end for a limited time`() async throws {
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

    @Test func `the subscriptions and registrations of an ended session are removed`() async throws {
        try await RouterStage.run { stage in
            let (gone, caller) = (try await stage.member(), try await stage.member())
            _ = try await gone.register(1, "com.app.echo")
            gone.connection.abort()
            // The meta API counts the session until the router knows.
            var request: WAMPID = 0
            repeat {
                request += 1
                try await caller.call(request, "wamp.session.count")
            } while try await caller.result(of: request) != [1]
            try await caller.call(request + 1, "com.app.echo")
            #expect(try await caller.error(of: .call, request + 1) == WAMPURI.Error.noSuchProcedure)
        }
    }

    @Test func `a client that sends nothing is dropped`() async throws {
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

    @Test func `a value that a serialization cannot represent arrives as the nearest one, and the call ends`() async throws {
        try await RouterStage.run { stage in
            let (callee, caller) = (try await stage.member(.messagePack), try await stage.member(.json))
            _ = try await callee.register(1, "com.app.odd")
            try await caller.call(1, "com.app.odd")
            guard case .invocation(let request, _, _, _) = try await callee.next() else { throw RouterGuest.Ended() }
            try await callee.say(.yield(request: request, options: ValueMap(), WAMPArguments([.float(.nan), 1])))
            #expect(try await caller.result(of: 1) == [nil, 1])
        }
    }

    @Test func `no message of a fast publisher is lost`() async throws {
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
