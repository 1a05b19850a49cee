import CodecCore
import Holdfast
import HoldfastRouter
import Testing
import WAMPCore
import WebSocketCore

/// A router over real sockets, one test after the other.
@Suite(.serialized, .timeLimit(.minutes(1))) struct RouterOverSocketsTests {
    @Test(arguments: WAMPSerialization.allCases)
    func `calls and events work over sockets in each serialization`(_ serialization: WAMPSerialization) async throws {
        try await WAMPRouter(.quiet).withRunning { server in
            let url = server.url("/ws")
            let (callee, caller) = (try await RouterGuest(url), try await RouterGuest(url, serialization))
            #expect(caller.connection.subprotocol == serialization.subprotocol)
            for guest in [callee, caller] { try await guest.join() }
            _ = try await callee.register(1, "com.app.echo")
            try await caller.call(1, "com.app.echo", [7, "seven"])
            try await callee.answer()
            #expect(try await caller.result(of: 1) == [7, "seven"])
            _ = try await caller.subscribe(2, "com.app.chat")
            try await callee.publish(2, "com.app.chat", ["hi"])
            #expect(try await caller.event() == ["hi"])
        }
    }

    @Test func `a hundred subscribers get every event in order`() async throws {
        let router = WAMPRouter(.quiet)
        try await router.withRunning { server in
            var guests: [RouterGuest] = []
            for number in 0..<100 {
                let guest = try await RouterGuest(server.url(), WAMPSerialization.allCases[number % 3])
                try await guest.join()
                _ = try await guest.subscribe(1, "com.app.ticks")
                guests.append(guest)
            }
            let publisher = try await RouterGuest(server.url(), .cbor)
            try await publisher.join()
            for request in WAMPID(1)...50 { try await publisher.publish(request, "com.app.ticks", [.integer(Int64(request))]) }
            for guest in guests {
                for number in Int64(1)...50 { #expect(try await guest.event() == [.integer(number)]) }
            }
            #expect(router.status.events == 5000)
        }
    }

    @Test func `a client without a known subprotocol or with another path is refused`() async throws {
        try await WAMPRouter(.quiet).withRunning { server in
            for (path, subprotocols, status) in [("/ws", [], 400), ("/ws", ["chat"], 400), ("/other", ["wamp.2.json"], 404)] {
                var configuration = WebSocketConfiguration()
                configuration.subprotocols = subprotocols
                let error = await #expect(throws: WebSocketError.self) {
                    _ = try await WebSocketConnection.connect(to: server.url(path), configuration: configuration)
                }
                #expect(error?.httpStatus == status)
            }
        }
    }

    @Test func `the limit of message length is higher after joining`() async throws {
        try await WAMPRouter(.quiet).withRunning { server in
            let long = Value.text(String(repeating: "x", count: 70_000))
            let stranger = try await RouterGuest(server.url())
            try? await stranger.say(.hello(realm: "realm1", details: ["roles": ["caller": [:]], "long": long]))
            #expect(try await stranger.closeCode() == 1009)
            let guest = try await RouterGuest(server.url())
            try await guest.join()
            try await guest.publishAcknowledged(1, "com.app.long", [long])
        }
    }

    @Test func `a violation closes the socket with 1002`() async throws {
        try await WAMPRouter(.quiet).withRunning { server in
            let guest = try await RouterGuest(server.url())
            try await guest.join()
            try await guest.say(.hello(realm: "realm1", details: ["roles": ["caller": [:]]]))
            #expect(try await guest.abort() == WAMPURI.Error.protocolViolation)
            #expect(try await guest.closeCode() == 1002)
        }
    }

    @Test func `a client that does not read is cut off, and the others get all events`() async throws {
        let router = WAMPRouter(.quiet { $0.limits.waiting = 256 * 1024 })
        try await router.withRunning { server in
            let (slow, quick, publisher) = (
                try await RouterGuest(server.url()), try await RouterGuest(server.url()), try await RouterGuest(server.url())
            )
            for guest in [slow, quick, publisher] { try await guest.join() }
            _ = try await slow.subscribe(1, "com.app.flood")
            _ = try await quick.subscribe(1, "com.app.flood")
            let content: [Value] = [.text(String(repeating: "x", count: 64 * 1024))]
            var request: WAMPID = 0
            while router.status.overruns == 0, request < 1000 {
                request += 1
                try await publisher.publishAcknowledged(request, "com.app.flood", content)
                #expect(try await quick.event() == content)
            }
            #expect(router.status.overruns == 1)
            #expect(try await slow.closeCode() == 1013)
        }
    }

    /// A client whose proxy reports this address.
    private func guest(_ url: String, from chain: String?) async throws -> RouterGuest {
        var configuration = WebSocketConfiguration()
        configuration.subprotocols = [WAMPSerialization.json.subprotocol]
        if let chain { configuration.headers["X-Forwarded-For"] = chain }
        return RouterGuest(try await WebSocketConnection.connect(to: url, configuration: configuration), .json)
    }

    @Test func `behind a proxy the client's address is the one that the proxy adds`() async throws {
        let router = WAMPRouter(
            .quiet {
                $0.isBehindProxy = true
                $0.server.maximumConnectionsPerAddress = 2
            })
        try await router.withRunning { server in
            let first = try await guest(server.url(), from: "10.0.0.1")
            let second = try await guest(server.url(), from: "10.0.0.9, 10.0.0.1")
            let session = try await first.join()
            try await second.join()
            for other in ["10.0.0.1", "10.0.0.2, 10.0.0.1", "::ffff:10.0.0.1"] {
                let error = await #expect(throws: WebSocketError.self) { _ = try await guest(server.url(), from: other) }
                #expect(error?.httpStatus == 429)
            }
            let other = try await guest(server.url(), from: "10.0.0.1, 10.0.0.2")
            try await other.join()
            try await other.call(1, "wamp.session.get", [Value(session)])
            #expect(try await other.result(of: 1).first?["transport"]?["peer"] == "10.0.0.1")
        }
    }

    @Test(arguments: [true, false])
    func `failed logins block only their own address if the router knows about the proxy`(_ knowsProxy: Bool) async throws {
        var users = WAMPUsers(anonymousRole: nil)
        for name in ["ann", "bob"] { users.add(name, .ticket("sesame")) }
        let router = WAMPRouter(
            .quiet { [users] in
                ($0.isBehindProxy, $0.authenticator) = (knowsProxy, users)
                $0.limits.failedLoginsPerAddress = .init(burst: 1, pause: .seconds(3600))
            })
        func login(_ name: String, _ ticket: String, from address: String, _ url: String) async throws -> WAMPMessage {
            let guest = try await guest(url, from: address)
            let answer = try await guest.hello(["authid": .text(name), "authmethods": ["ticket"]])
            guard case .challenge = answer else { return answer }
            try await guest.say(.authenticate(signature: ticket, extra: ValueMap()))
            return try await guest.next()
        }
        try await router.withRunning { server in
            guard case .abort(_, WAMPURI.Error.authenticationFailed, _) = try await login("ann", "wrong", from: "10.0.0.1", server.url())
            else { throw RouterGuest.Ended() }
            switch try await login("bob", "sesame", from: "10.0.0.2", server.url()) {
            case .welcome: #expect(knowsProxy)
            case .abort(_, let reason, _): #expect(!knowsProxy && reason == WAMPURI.Error.unavailable)
            default: throw RouterGuest.Ended()
            }
        }
    }

    @Test func `a cut closes without a close frame`() async throws {
        let router = WAMPRouter(.quiet)
        try await router.withRunning { server in
            let guest = try await RouterGuest(server.url())
            try await guest.join()
            router.faults.add(.cut(.published))
            try await guest.publish(1, "com.app.chat", acknowledge: true)
            #expect(try await guest.closeCode() == nil)
        }
    }

    @Test func `a stopping server says goodbye to every session first`() async throws {
        // No client answers here.
        let router = WAMPRouter(.quiet(RouterPolicy(goodbyePatience: .zero)))
        let guest = try await router.withRunning { server in
            let guest = try await RouterGuest(server.url())
            try await guest.join()
            return guest
        }
        #expect(try await guest.goodbye() == WAMPURI.Close.systemShutdown)
        #expect(try await guest.closeCode() == 1001)
    }

    @Test func `only pages of the router's own host and of allowed origins may connect`() async throws {
        try await WAMPRouter(.quiet { $0.origins = ["https://example.org"] }).withRunning { server in
            let own = "http://\(server.host):8080"
            for (origin, isTaken) in [("https://evil.example", false), ("https://example.org", true), (own, true)] {
                var configuration = WebSocketConfiguration()
                configuration.subprotocols = ["wamp.2.json"]
                configuration.headers["Origin"] = origin
                let connection = try? await WebSocketConnection.connect(to: server.url(), configuration: configuration)
                #expect((connection != nil) == isTaken, "\(origin)")
                await connection?.close()
            }
        }
    }
}
