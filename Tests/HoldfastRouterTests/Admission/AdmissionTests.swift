import CodecCore
import Holdfast
import HoldfastRouter
import HoldfastTesting
import WebSocketRuntime
import Testing
import WAMPCore
import WAMPSigning

/// Authentication and authorization of clients.
@Suite(.timeLimit(.minutes(1))) struct AdmissionTests {
    private static func users() throws -> WAMPUsers {
        var users = WAMPUsers(anonymousRole: nil)
        users.add("ann", .ticket("sesame"), role: "frontend")
        users.add("bob", .cra(CRASecret("hush")))
        let salted = try ChallengeResponse.saltedSecret("hush", salt: "pepper")
        users.add("cat", .cra(CRASecret(salted: salted, salt: "pepper")), role: "backend")
        return users
    }

    private static func closed() throws -> WAMPRouterConfiguration {
        let users = try users()
        return .quiet { $0.authenticator = users }
    }

    /// Says hello with this name and answers the challenge.
    private func answer(
        _ guest: RouterGuest, _ name: String, _ method: String, _ prove: (ValueMap) throws -> String
    ) async throws -> WAMPMessage {
        let details: ValueMap = ["authid": .text(name), "authmethods": [.text(method)]]
        guard case .challenge(method, let extra) = try await guest.hello(details) else { throw RouterGuest.Ended() }
        try await guest.say(.authenticate(signature: try prove(extra), extra: ValueMap()))
        return try await guest.next()
    }

    @Test func `a ticket authenticates its user with the user's role`() async throws {
        try await RouterStage.run(try Self.closed()) { stage in
            guard case .welcome(_, let details) = try await answer(stage.guest(), "ann", "ticket", { _ in "sesame" }) else {
                throw RouterGuest.Ended()
            }
            #expect(details["authid"] == "ann" && details["authrole"] == "frontend" && details["authmethod"] == "ticket")
        }
    }

    @Test(arguments: ["bob", "cat"])
    func `a WAMP-CRA signature authenticates its user, with and without a salt`(_ name: String) async throws {
        try await RouterStage.run(try Self.closed()) { stage in
            let answer = try await answer(stage.guest(), name, "wampcra") { try ChallengeResponse.answer($0, secret: "hush") }
            guard case .welcome(_, let details) = answer else { throw RouterGuest.Ended() }
            #expect(details["authid"] == .text(name) && details["authmethod"] == "wampcra")
        }
    }

    @Test func `failed logins of a user are limited, known or not, and later a right ticket is accepted`() async throws {
        let clock = ManualClock()
        try await RouterStage.run(try Self.closed(), clock: clock) { stage in
            let details: ValueMap = ["authid": "ann", "authmethods": ["ticket"]]
            for name in ["ann", "dan"] {
                var refusals: [String?] = []
                for _ in 0..<20 {
                    guard case .abort(_, let reason, _) = try await answer(stage.guest(), name, "ticket", { _ in "wrong" }) else { break }
                    refusals.append(reason)
                }
                #expect(refusals == [String](repeating: WAMPURI.Error.authenticationFailed, count: 20))
                let details: ValueMap = ["authid": .text(name), "authmethods": ["ticket"]]
                guard case .abort(_, WAMPURI.Error.unavailable, _) = try await stage.guest().hello(details) else {
                    throw RouterGuest.Ended()
                }
            }
            // Other users are not affected.
            guard case .challenge = try await stage.guest().hello(["authid": "bob", "authmethods": ["wampcra"]]) else {
                throw RouterGuest.Ended()
            }
            clock.advance(by: .seconds(10))
            guard case .challenge = try await stage.guest().hello(details),
                case .welcome = try await answer(stage.guest(), "ann", "ticket", { _ in "sesame" })
            else { throw RouterGuest.Ended() }
        }
    }

    @Test(arguments: ["ticket", "wampcra"])
    func `a wrong proof, another method and an unknown user get the same refusal`(_ method: String) async throws {
        try await RouterStage.run(try Self.closed()) { stage in
            var answers: [WAMPMessage] = []
            for name in ["ann", "bob", "dan"] {
                let guest = stage.guest()
                answers.append(try await answer(guest, name, method) { _ in "wrong" })
                #expect(try await guest.closeCode() == 1000)
            }
            #expect(Set(answers).count == 1)
            guard case .abort(_, let reason, _)? = answers.first else { throw RouterGuest.Ended() }
            #expect(reason == WAMPURI.Error.authenticationFailed)
            #expect(stage.router.status.refused == 3 && stage.router.status.sessions == 0)
        }
    }

    @Test func `a client without a known method is refused where anonymous clients are not allowed`() async throws {
        try await RouterStage.run(try Self.closed()) { stage in
            for details: ValueMap in [ValueMap(), ["authmethods": ["voice"], "authid": "ann"]] {
                guard case .abort(_, let reason, _) = try await stage.guest().hello(details) else { throw RouterGuest.Ended() }
                #expect(reason == WAMPURI.Error.noMatchingAuthMethod)
            }
        }
    }

    @Test func `a key authenticates its user without an authid`() async throws {
        let key = CryptosignKey()
        var users = WAMPUsers()
        users.add("eve", .cryptosign(publicKey: key.publicKey))
        let configuration = WAMPRouterConfiguration.quiet { [users] in $0.authenticator = users }
        try await RouterStage.run(configuration) { stage in
            let guest = stage.guest()
            let hello: ValueMap = ["authmethods": ["cryptosign"], "authextra": ["pubkey": .text(key.publicKey)]]
            guard case .challenge(_, let extra) = try await guest.hello(hello) else { throw RouterGuest.Ended() }
            try await guest.say(.authenticate(signature: try key.answer(extra), extra: ValueMap()))
            guard case .welcome(_, let details) = try await guest.next() else { throw RouterGuest.Ended() }
            #expect(details["authid"] == "eve")
        }
    }

    private struct Stubborn: WAMPAuthenticator {
        let isAsked: @Sendable () -> Void
        var isGivenUp: @Sendable () -> Void = {}

        func examine(_ applicant: WAMPApplicant) async throws -> WAMPAdmission {
            isAsked()
            for await _ in AsyncStream(Never.self, { _ in }) {}
            isGivenUp()
            throw CancellationError()
        }
    }

    @Test func `a client whose authenticator takes too long is refused`() async throws {
        let (clock, (asked, asking)) = (ManualClock(), AsyncStream.makeStream(of: Void.self))
        let configuration = WAMPRouterConfiguration.quiet { $0.authenticator = Stubborn { asking.yield() } }
        try await RouterStage.run(configuration, clock: clock) { stage in
            let guest = stage.guest()
            async let answer = guest.hello()
            for await _ in asked { break }
            clock.advance(by: configuration.limits.authentication)
            guard case .abort(_, let reason, _) = try await answer else { throw RouterGuest.Ended() }
            #expect(reason == WAMPURI.Error.authenticationFailed)
        }
    }

    @Test func `an authenticator is cancelled when its client disconnects`() async throws {
        let ((asked, asking), (gone, going)) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
        let stubborn = Stubborn(isAsked: { asking.yield() }, isGivenUp: { going.yield() })
        try await RouterStage.run(.quiet { $0.authenticator = stubborn }) { stage in
            let guest = stage.guest()
            async let answer = guest.hello()
            for await _ in asked { break }
            guest.connection.abort()
            for await _ in gone { break }
            _ = try? await answer
        }
    }

    private struct Broken: WAMPAuthenticator {
        func examine(_ applicant: WAMPApplicant) async throws -> WAMPAdmission { throw RouterGuest.Ended() }
    }

    @Test func `a client whose authenticator fails is refused without the cause`() async throws {
        try await RouterStage.run(.quiet { $0.authenticator = Broken() }) { stage in
            guard case .abort(let details, let reason, _) = try await stage.guest().hello() else { throw RouterGuest.Ended() }
            #expect(reason == WAMPURI.Error.authenticationFailed)
            #expect(details["message"]?.string?.contains("Ended") == false)
        }
    }

    @Test func `a forbidden request gets an error, and the session continues`() async throws {
        let configuration = WAMPRouterConfiguration.quiet {
            $0.authorization = { member, action, uri, _ in
                member.authRole == "anonymous" && action == .publish && uri.hasPrefix("com.app.closed") ? .denied : .allowed
            }
        }
        try await RouterStage.run(configuration) { stage in
            let guest = try await stage.member()
            try await guest.publish(1, "com.app.closed.topic", acknowledge: true)
            #expect(try await guest.error(of: .publish, 1) == WAMPURI.Error.notAuthorized)
            // Without acknowledgement a forbidden publication gets no answer.
            try await guest.publish(2, "com.app.closed.topic")
            _ = try await guest.subscribe(3, "com.app.closed.topic")
            try await guest.publishAcknowledged(4, "com.app.open")
        }
    }

    @Test(arguments: [true, false])
    func `the operator decides whether callers are disclosed`(_ discloses: Bool) async throws {
        let configuration = WAMPRouterConfiguration.quiet { $0.authorization = { _, _, _, _ in .allowed(discloses: discloses) } }
        try await RouterStage.run(configuration) { stage in
            let (callee, caller) = (try await stage.member(), stage.guest())
            let session = try await caller.join()
            _ = try await callee.register(1, "com.app.who")
            let options: ValueMap = ["disclose_me": .bool(!discloses)]
            try await caller.say(.call(request: 1, options: options, procedure: "com.app.who", .none))
            guard case .invocation(_, _, let details, _) = try await callee.next() else { throw RouterGuest.Ended() }
            let expected: Value? = discloses ? Value(session) : Optional.none
            #expect(details["caller"] == expected)
        }
    }

    @Test func `the authorizer is told whether a URI is a pattern`() async throws {
        let configuration = WAMPRouterConfiguration.quiet { $0.authorization = { _, _, _, match in match == .exact ? .allowed : .denied } }
        try await RouterStage.run(configuration) { stage in
            let guest = try await stage.member()
            for (request, match) in [(WAMPID(1), "prefix"), (2, "wildcard")] {
                try await guest.say(.subscribe(request: request, options: ["match": .text(match)], topic: "com.app"))
                #expect(try await guest.error(of: .subscribe, request) == WAMPURI.Error.notAuthorized)
            }
            try await guest.say(.register(request: 3, options: ["match": "prefix"], procedure: "com.app"))
            #expect(try await guest.error(of: .register, 3) == WAMPURI.Error.notAuthorized)
            _ = try await guest.subscribe(4, "com.app", ["match": "exact"])
            _ = try await guest.register(5, "com.app")
        }
    }

    @Test func `only a session that may subscribe can read the history of a topic`() async throws {
        let trusted = LockedValue<WAMPID>(0)
        let configuration = WAMPRouterConfiguration.quiet(RouterPolicy(historyLength: 10)) {
            $0.authorization = { session, action, uri, match in
                let isSecret = action == .subscribe && uri == "com.app.secret." && match == .prefix
                return isSecret && trusted.withLockedValue({ $0 != session.id }) ? .denied : .allowed
            }
        }
        try await RouterStage.run(configuration) { stage in
            let (member, guest) = (stage.guest(), try await stage.member())
            let session = try await member.join()
            trusted.withLockedValue { $0 = session }
            let subscription = try await member.subscribe(1, "com.app.secret.", ["match": "prefix"])
            try await guest.publishAcknowledged(1, "com.app.secret.one")
            try await guest.call(2, "wamp.subscription.get_events", [Value(subscription)])
            #expect(try await guest.error(of: .call, 2) == WAMPURI.Error.notAuthorized)
            try await guest.call(3, "wamp.subscription.get_events", [1])
            #expect(try await guest.error(of: .call, 3) == WAMPURI.Error.noSuchSubscription)
            _ = try await member.event()
            try await member.call(2, "wamp.subscription.get_events", [Value(subscription)])
            #expect(try await member.result(of: 2).count == 1)
        }
    }

    @Test func `a testament is published only if its session may publish to the topic`() async throws {
        let configuration = WAMPRouterConfiguration.quiet {
            $0.authorization = { _, action, uri, _ in action == .publish && uri == "com.app.closed" ? .denied : .allowed }
        }
        try await RouterStage.run(configuration) { stage in
            let guest = try await stage.member()
            try await guest.call(1, "wamp.session.add_testament", ["com.app.closed", [], [:]])
            #expect(try await guest.error(of: .call, 1) == WAMPURI.Error.notAuthorized)
            try await guest.call(2, "wamp.session.add_testament", ["com.app.open", [], [:]])
            _ = try await guest.result(of: 2)
        }
    }

    @Test func `the authorizer is not asked about a URI that is too long`() async throws {
        let configuration = WAMPRouterConfiguration.quiet {
            $0.authorization = { _, _, uri, _ in uri.utf8.count > 1024 ? .denied : .allowed }
        }
        try await RouterStage.run(configuration) { stage in
            let guest = try await stage.member()
            let long = Value.text("com." + String(repeating: "a", count: 2000))
            try await guest.call(1, "wamp.session.add_testament", [long, [], [:]])
            #expect(try await guest.error(of: .call, 1) == WAMPURI.Error.invalidURI, "the router itself refuses it")
        }
    }

    @Test(arguments: [true, false])
    func `the operator decides whether a testament discloses its session`(_ discloses: Bool) async throws {
        let configuration = WAMPRouterConfiguration.quiet {
            $0.authorization = { _, action, _, _ in action == .publish ? .allowed(discloses: discloses) : .allowed }
        }
        try await RouterStage.run(configuration) { stage in
            let (heir, guest) = (try await stage.member(), stage.guest())
            let session = try await guest.join()
            _ = try await heir.subscribe(1, "com.app.last")
            let wish: ValueMap = ["publish_options": ["disclose_me": .bool(!discloses)]]
            let testament = WAMPArguments(["com.app.last", ["bye"], [:]], keywords: wish)
            try await guest.say(.call(request: 1, options: ValueMap(), procedure: "wamp.session.add_testament", testament))
            _ = try await guest.result(of: 1)
            guest.connection.abort()
            guard case .event(_, _, let details, _) = try await heir.next() else { throw RouterGuest.Ended() }
            let expected: Value? = discloses ? Value(session) : Optional.none
            #expect(details["publisher"] == expected)
        }
    }
}
