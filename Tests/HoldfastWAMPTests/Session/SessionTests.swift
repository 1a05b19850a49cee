import CodecCore
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import ProtocolStage
import Logging
import Testing
import WAMPCore
import WAMPSigning
import WebSocketCore
import WebSocketRuntime

@Suite("Sessions", .timeLimit(.minutes(1))) struct SessionTests {
    @Test("the client joins the realm with its identity and reports the features of the router")
    func joining() async throws {
        let stage = WAMPStage()
        let peer = try await stage.answer()
        guard case .hello(let realm, let details)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(realm == "realm1")
        #expect(details["roles"]?["caller"] != nil)
        #expect(details["agent"] == "holdfast")
        try await peer.send(.welcome(session: 9, details: ["roles": .map(WAMPPeer.features), "authid": "ann"]))
        let session = try await stage.wamp.joined(within: .seconds(1))
        #expect(session.id == 9)
        #expect(session.authID == "ann")
        #expect(session.dealerFeatures.contains("call_canceling"))
        #expect(stage.wamp.state.session == session)
    }

    @Test("the state goes from connecting to closed")
    func states() async throws {
        let stage = WAMPStage()
        let (states, changes) = (LockedValue<[String]>([]), Changes())
        let following = Task { [states, changes, wamp = stage.wamp] in
            for await state in wamp.states {
                states.withLockedValue { states in
                    let word = "\(state)".prefix { $0 != "(" }
                    if states.last != String(word) { states.append(String(word)) }
                }
                changes.announce()
            }
        }
        await changes.until { states.withLockedValue(\.self) == ["connecting"] }
        let peer = try await stage.accept()
        await changes.until { states.withLockedValue(\.last) == "joined" }
        peer.transport.cut()
        await changes.until { states.withLockedValue(\.last) == "waiting" }
        let other = try await stage.acceptAgain()
        await changes.until { states.withLockedValue(\.last) == "joined" }
        async let closing: Void = stage.wamp.close()
        _ = try await other.next()
        try await other.send(.goodbye(details: [:], reason: WAMPURI.Close.goodbyeAndOut, .none))
        _ = try await other.next()
        await closing
        await following.value
        #expect(states.withLockedValue(\.last) == "closed")
        guard case .closed(nil) = stage.wamp.state else { throw WAMPPeer.Mismatch(message: nil) }
    }

    @Test("a ticket is fetched anew for each join and is in no log and no description")
    func ticket() async throws {
        let (log, lines) = LineLog.make()
        var options = WAMPOptions()
        options.logger = log
        options.logsPayloads = true
        let count = LockedValue(0)
        let authentication = WAMPAuthentication.ticket(user: "joe") {
            let number = count.withLockedValue { count in
                count += 1
                return count
            }
            return "hush-\(number)"
        }
        let stage = WAMPStage(authentication: authentication, options: options)
        var peer = try await stage.answer()
        for round in 1...2 {
            guard case .hello(_, let details)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
            #expect(details["authid"] == "joe")
            #expect(details["authmethods"] == ["ticket"])
            try await peer.send(.challenge(method: "ticket", extra: [:]))
            let message = try await peer.next()
            guard case .authenticate(let signature, _)? = message else { throw WAMPPeer.Mismatch(message: message) }
            #expect(signature == "hush-\(round)")
            try await peer.send(.welcome(session: 9, details: ["roles": .map(WAMPPeer.features)]))
            try await stage.wamp.joined()
            if round == 1 {
                peer.transport.cut()
                peer = try await stage.answerAgain(.json)
            }
        }
        #expect(!lines.all.joined().contains("hush"))
        #expect(lines.contains("→ AUTHENTICATE"))
    }

    @Test("the log describes messages, and shows payloads only on request")
    func words() async throws {
        for showsPayloads in [false, true] {
            let (log, lines) = LineLog.make()
            var options = WAMPOptions()
            (options.logger, options.logsPayloads) = (log, showsPayloads)
            let (stage, peer) = try await WAMPStage.joined(options: options)
            async let subscribing = stage.wamp.subscribe(API.chat)
            try await peer.subscribe(as: 5)
            let events = try await subscribing
            async let sum = stage.wamp.call(API.add, 23, 7, options: CallOptions(timeout: .seconds(5)))
            let call = try await peer.call()
            try await peer.event(5, 5_862_354, ["secret words"])
            try await peer.answer(call, [30])
            #expect(try await sum == 30)
            let all = lines.all
            #expect(all.contains { $0.hasPrefix("→ CALL #2 com.app.add (2 args, timeout 5 s") })
            #expect(all.contains { $0.hasPrefix("← EVENT com.app.chat #5862354 (1 arg") })
            #expect(all.contains { $0.hasPrefix("← RESULT #2 com.app.add") })
            #expect(all.contains { $0.contains("secret words") } == showsPayloads)
            events.end()
        }
    }

    @Test("a final refusal ends the client, and all pending requests get the reason")
    func refusedForGood() async throws {
        let stage = WAMPStage()
        let calling = Task { try await stage.wamp.call(API.add, 1, 2) }
        let peer = try await stage.answer()
        _ = try await peer.next()
        try await peer.send(.abort(details: ["message": "no such realm"], reason: WAMPURI.Error.noSuchRealm, .none))
        let joining = await #expect(throws: WAMPError.self) { try await stage.wamp.joined() }
        #expect(joining?.code == .dismissed)
        #expect(joining?.uri == WAMPURI.Error.noSuchRealm)
        let waiting = await #expect(throws: WAMPError.self) { try await calling.value }
        #expect(waiting?.uri == WAMPURI.Error.noSuchRealm)
        #expect(waiting?.request == "CALL com.app.add")
        let later = await #expect(throws: WAMPError.self) { try await stage.wamp.call(API.add, 1, 2) }
        #expect(later?.code == .dismissed)
    }

    @Test("the client leaves a router that shuts down or violates the protocol, and joins again")
    func again() async throws {
        let (stage, first) = try await WAMPStage.joined()
        try await first.send(.goodbye(details: [:], reason: WAMPURI.Close.systemShutdown, .none))
        guard case .goodbye(_, WAMPURI.Close.goodbyeAndOut, _)? = try await first.next() else { throw WAMPPeer.Mismatch(message: nil) }
        let second = try await stage.acceptAgain()
        try await stage.wamp.joined()
        try await second.transport.send(.text("{}"))
        let message = try await second.next()
        guard case .abort(_, WAMPURI.Error.protocolViolation, _)? = message else { throw WAMPPeer.Mismatch(message: message) }
        await #expect(throws: TransportError.self) { while try await second.next() != nil {} }
        #expect(second.transport.closeRecord?.received?.code == .protocolError)
        let third = try await stage.acceptAgain()
        try await stage.wamp.joined()
        async let sum = stage.wamp.call(API.add, 1, 2)
        try await third.answer(third.call(), [3])
        #expect(try await sum == 3)
    }

    @Test("a cancelled run leaves the realm and waits for the answer of the router")
    func running() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let running = Task { try await stage.wamp.run() }
        running.cancel()
        guard case .goodbye(_, WAMPURI.Close.closeRealm, _)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        try await peer.send(.goodbye(details: [:], reason: WAMPURI.Close.goodbyeAndOut, .none))
        try await running.value
        guard case .closed(nil) = stage.wamp.state, case .closed = stage.wamp.socket.state else { throw WAMPPeer.Mismatch(message: nil) }
    }

    @Test("closing says goodbye, ends pending requests, and waits only a limited time for the answer")
    func closing() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        let calling = Task { try await stage.wamp.call(API.add, 1, 2) }
        _ = try await peer.call()
        async let closing: Void = stage.wamp.close()
        guard case .goodbye(_, WAMPURI.Close.closeRealm, _)? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(await #expect(throws: WAMPError.self) { try await calling.value }?.code == .closed)
        stage.clock.advance(by: .seconds(10))
        while try await peer.next() != nil {}
        await closing
        #expect(await #expect(throws: WAMPError.self) { try await stage.wamp.call(API.ping) }?.code == .closed)
    }

    @Test("closing without a connection returns at once")
    func closingEarly() async throws {
        let stage = WAMPStage()
        await stage.wamp.close()
        guard case .closed(nil) = stage.wamp.state else { throw WAMPPeer.Mismatch(message: nil) }
    }

    @Test("pending requests end when the last reference to the client is released")
    func released() async throws {
        let server = MemoryServer()
        var socketOptions = WebSocketOptions()
        WAMPOptions.prepare(&socketOptions)
        var wamp: WAMPClient? = WAMPClient(
            over: WebSocket(socketOptions, clock: ManualClock(), connect: server.connect), realm: "realm1", clock: ManualClock())
        let attempt = try #require(await server.nextAttempt())
        let peer = WAMPPeer(transport: attempt.accept(subprotocol: WAMPSerialization.cbor.subprotocol), serialization: .cbor)
        try await peer.welcome()
        let subscribing = Task { [weak wamp] in try await wamp?.subscribe(API.chat) }
        try await peer.subscribe(as: 5)
        let events = try #require(try await subscribing.value)
        wamp = nil
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next() == nil)
    }

    @Test("a server that agrees on no WAMP subprotocol ends the client")
    func subprotocol() async throws {
        let stage = WAMPStage()
        let transport = try await stage.base.answer()
        let error = await #expect(throws: WAMPError.self) { try await stage.wamp.joined() }
        #expect(error?.code == .unsupported)
        withExtendedLifetime(transport) {}
    }

    @Test("a client that is not welcomed in time opens another connection")
    func silent() async throws {
        var options = WAMPOptions()
        options.joinPatience = .seconds(2)
        let stage = WAMPStage(options: options)
        let silent = try await stage.answer()
        _ = try await silent.next()
        let reading = Task { while (try? await silent.next()) != nil {} }
        await stage.base.pass(.seconds(2))
        _ = try await stage.acceptAgain()
        try await stage.wamp.joined()
        await reading.value
    }

    @Test("a testament is added again in each session")
    func testament() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        async let adding: Void = stage.wamp.addTestament(API.chat, "gone", scope: .detached)
        let call = try await peer.call()
        #expect(call.procedure == "wamp.session.add_testament")
        #expect(try call.arguments.list == ["com.app.chat", ["gone"], [:]])
        #expect(try call.arguments.keywords["scope"] == "detached")
        try await peer.answer(call)
        try await adding
        peer.transport.cut()
        let other = try await stage.acceptAgain()
        let again = try await other.call()
        #expect(again.procedure == "wamp.session.add_testament")
        #expect(again.arguments == call.arguments)
        try await other.answer(again)
    }

    @Test("the log knows the procedure of a result after any number of publications")
    func names() async throws {
        let (log, lines) = LineLog.make()
        var options = WAMPOptions()
        options.logger = log
        let (stage, peer) = try await WAMPStage.joined(options: options)
        let reading = Task { for _ in 0..<4200 { _ = try await peer.next() } }
        for _ in 0..<4200 { try await stage.wamp.publish(API.chat, "hi") }
        try await reading.value
        async let sum = stage.wamp.call(API.add, 1, 2)
        try await peer.answer(peer.call(), [3])
        #expect(try await sum == 3)
        #expect(lines.contains("← RESULT #4201 com.app.add"))
    }

    @Test("the client uses the logger of the socket unless it has its own")
    func logger() async throws {
        for hasOwn in [false, true] {
            let ((log, lines), (other, others)) = (LineLog.make(), LineLog.make())
            let stage = ProtocolStage {
                WAMPOptions.prepare(&$0)
                $0.logger = log
            }
            var options = WAMPOptions()
            if hasOwn { options.logger = other }
            let wamp = WAMPClient(over: stage.socket, realm: "realm1", options: options, clock: stage.clock)
            let peer = WAMPPeer(transport: try await stage.answer(WAMPSerialization.cbor.subprotocol), serialization: .cbor)
            try await peer.welcome()
            try await wamp.joined()
            let line = "session 4711 has joined realm1"
            await (hasOwn ? others : lines).wait(for: line)
            #expect(lines.contains(line) != hasOwn && others.contains(line) == hasOwn)
        }
    }

    @Test("a timeout while waiting for the session has the cause of the last failure")
    func inVain() async throws {
        let stage = WAMPStage()
        try #require(await stage.base.server.nextAttempt()).refuse(TransportError(.unreachable, "connection refused"))
        await stage.wamp.states.until { if case .waiting(.some) = $0 { true } else { false } }
        let joining = Task { try await stage.wamp.joined(within: .milliseconds(300)) }
        while await stage.clock.nextSleep() != .milliseconds(300) {}
        stage.clock.advance(by: .milliseconds(300))
        let error = await #expect(throws: WAMPError.self) { _ = try await joining.value }
        #expect(error?.code == .timedOut && (error?.underlying as? WebSocketError)?.code == .unreachable)
        #expect(error?.description == "the session timed out before it could be sent: connection refused; may be retried")
        let call = await #expect(throws: WAMPError.self) {
            try await stage.wamp.call(API.add, 1, 2, options: CallOptions(joinPatience: nil))
        }
        #expect(call?.code == .notJoined && call?.description.contains("connection refused") == true)
    }

    @Test("a permanent failure to prove the identity ends the client with a reason")
    func hopeless() async throws {
        let stage = WAMPStage(authentication: .cra(user: "joe", secret: "hush"))
        let peer = try await stage.answer()
        _ = try await peer.next()
        try await peer.send(.challenge(method: "wampcra", extra: [:]))
        guard case .abort(_, WAMPURI.Error.authenticationFailed, _)? = try await peer.next() else {
            throw WAMPPeer.Mismatch(message: nil)
        }
        let error = await #expect(throws: WAMPError.self) { try await stage.wamp.joined() }
        #expect(error?.code == .dismissed)
        #expect(error?.uri == WAMPURI.Error.authenticationFailed)
        #expect(error?.underlying is SigningError)
        #expect(error?.isRetryable == false)
    }

    @Test("a missing ticket is retried, and the content of the app's error stays out of the log")
    func noTicket() async throws {
        struct TokenServiceIsDown: Error { let url = "hush" }
        let (log, lines) = LineLog.make()
        var options = WAMPOptions()
        options.logger = log
        let stage = WAMPStage(authentication: .ticket(user: "joe") { throw TokenServiceIsDown() }, options: options)
        let peer = try await stage.answer()
        _ = try await peer.next()
        try await peer.send(.challenge(method: "ticket", extra: [:]))
        guard case .abort? = try await peer.next() else { throw WAMPPeer.Mismatch(message: nil) }
        _ = try await stage.acceptAgain()
        try await stage.wamp.joined()
        await lines.wait(for: "TokenServiceIsDown")
        #expect(!lines.all.joined().contains("hush"))
    }

    @Test("the state while reconnecting has the reason of the router, not only that the connection was closed")
    func cause() async throws {
        let (stage, peer) = try await WAMPStage.joined()
        try await peer.send(.abort(details: ["message": "later"], reason: WAMPURI.Close.systemShutdown, .none))
        _ = try #require(await stage.base.nextAttempt())
        await stage.wamp.states.until { if case .waiting(.some) = $0 { true } else { false } }
        guard case .waiting(let cause?) = stage.wamp.state else { throw WAMPPeer.Mismatch(message: nil) }
        #expect(cause.code == .dismissed)
        #expect(cause.uri == WAMPURI.Close.systemShutdown)
    }
}
