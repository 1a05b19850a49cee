import CodecCore
import Foundation
import Holdfast
import HoldfastRouter
import HoldfastTesting
import HoldfastWAMP
import ProtocolStage
import Testing
import WAMPCore
import WAMPSigning
import WebSocketCore

/// Clients of a real router in memory.
@Suite("With a router", .timeLimit(.minutes(1))) struct RouterTests {
    /// A router with clients.
    final class World: Sendable {
        let router: WAMPRouter
        private let serving: Task<Void, Never>
        private let (attempts, attempt) = AsyncStream.makeStream(of: (MemoryTransport).self)

        init(_ given: WAMPRouterConfiguration = WAMPRouterConfiguration()) {
            var configuration = given
            configuration.policy.allowsKilling = true
            let router = WAMPRouter(configuration)
            self.router = router
            // SAFETY: the task is cancelled with this object.
            serving = Task { [attempts] in
                await withDiscardingTaskGroup { group in
                    for await transport in attempts { group.addTask { await router.serve(transport: transport) } }
                }
            }
        }

        deinit { serving.cancel() }

        func client(
            _ serialization: WAMPSerialization = .messagePack, authentication: WAMPAuthentication = .anonymous,
            options: WAMPOptions = WAMPOptions()
        ) -> WAMPClient {
            var socketOptions = WebSocketOptions()
            socketOptions.reconnect = ReconnectPolicy(backoff: Backoff(base: .milliseconds(1), jitter: .proportional(0)))
            WAMPOptions.prepare(&socketOptions)
            let attempt = attempt
            let socket = WebSocket(socketOptions, clock: ContinuousClock()) { _ in
                let agreement = Agreement(subprotocol: serialization.subprotocol, response: ResponseHead(status: 101))
                let (near, far) = MemoryTransport.pair(agreement: agreement)
                attempt.yield(far)
                return WebSocketConnection(near)
            }
            return WAMPClient(over: socket, realm: "realm1", authentication: authentication, options: options)
        }
    }

    @Test("calls, events, progressive results, errors and cancellation work between any two serializations")
    func everything() async throws {
        let world = World()
        for (near, far) in zip(WAMPSerialization.allCases, [.cbor, .json, .messagePack] as [WAMPSerialization]) {
            let (caller, callee) = (world.client(near), world.client(far))
            let add = try await callee.register(API.add) { input, _ in input.0 + input.1 }
            #expect(try await caller.call(API.add, 23, 7) == 30)

            let echo = try await callee.register(Procedure<Data, Data>("com.app.echo")) { data, _ in data }
            #expect(try await caller.call(Procedure<Data, Data>("com.app.echo"), Data([0, 255, 7])) == Data([0, 255, 7]))

            let count = try await callee.register(Procedure<Int, Int>("com.app.count")) { number, invocation in
                for part in 1..<number { try await invocation.progress(part) }
                return number
            }
            var parts: [Int] = []
            for try await part in try caller.callProgressively(Procedure<Int, Int>("com.app.count"), 4) { parts.append(part.value) }
            #expect(parts == [1, 2, 3, 4])

            let missing = await #expect(throws: WAMPError.self) { try await caller.call(API.ping) }
            #expect(missing?.uri == WAMPURI.Error.noSuchProcedure)

            let (ended, end) = AsyncStream.makeStream(of: Bool.self)
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            let slow = try await callee.register("com.app.slow") { _, _ in
                begin.yield()
                try? await ContinuousClock().sleep(for: .seconds(3600))
                end.yield(Task.isCancelled)
                return .none
            }
            let calling = Task { try await caller.call("com.app.slow") }
            var (beginning, ending) = (begun.makeAsyncIterator(), ended.makeAsyncIterator())
            await beginning.next()
            calling.cancel()
            #expect(await #expect(throws: WAMPError.self) { try await calling.value }?.code == .cancelled)
            #expect(await ending.next() == true)

            let events = try await callee.subscribe(Topic<API.User>("com.app.users"))
            let user = API.User(id: 1, name: "änn")
            #expect(
                try await caller.publish(Topic<API.User>("com.app.users"), user, options: PublishOptions(isAcknowledged: true)) != nil)
            var iterator = events.makeAsyncIterator()
            #expect(try await iterator.next()?.content == user)
            for registration in [add, echo, count, slow] { registration.unregister() }
            await caller.close()
            await callee.close()
        }
    }

    @Test("a publisher gets its own event only if it asks for it")
    func exclusion() async throws {
        let world = World()
        let wamp = world.client()
        let events = try await wamp.subscribe(API.chat)
        try await wamp.publish(API.chat, "not for me", options: PublishOptions(isAcknowledged: true))
        try await wamp.publish(API.chat, "for me", options: PublishOptions(isAcknowledged: true, excludesMe: false))
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next()?.content == "for me")
    }

    /// A method with its proof at the router, and a client with the right or a wrong secret.
    struct Method: Sendable, CustomTestStringConvertible {
        let name: String
        let proof: @Sendable () throws -> WAMPUsers.Proof
        let way: @Sendable (_ isRight: Bool) -> WAMPAuthentication
        var testDescription: String { name }

        static let all: [Method] = [
            Method(name: "ticket") {
                .ticket("sesame")
            } way: {
                .ticket(user: "ann", ticket: $0 ? "sesame" : "guess")
            },
            Method(name: "wampcra") {
                .cra(CRASecret("sesame"))
            } way: {
                .cra(user: "ann", secret: $0 ? "sesame" : "guess")
            },
            Method(name: "wampcra") {
                .cra(CRASecret(salted: try ChallengeResponse.saltedSecret("sesame", salt: "pepper"), salt: "pepper"))
            } way: {
                .cra(user: "ann", secret: $0 ? "sesame" : "guess")
            },
            Method(name: "cryptosign") {
                .cryptosign(publicKey: key.publicKey)
            } way: {
                .cryptosign(user: "ann", key: $0 ? key : CryptosignKey())
            },
            Method(name: "scram") {
                .scram(try ScramKeys(password: "sesame", dialect: .crossbar, hash: .pbkdf2(iterations: 1000)))
            } way: {
                .scram(user: "ann", password: $0 ? "sesame" : "guess")
            },
            Method(name: "wamp-scram") {
                .scram(try ScramKeys(password: "sesame", dialect: .standard, hash: .pbkdf2(iterations: 1000)))
            } way: {
                .scram(user: "ann", password: $0 ? "sesame" : "guess")
            },
        ]
        private static let key = CryptosignKey()
    }

    @Test("a client with a wrong secret is refused, and one with the right secret gets its role", arguments: Method.all)
    func authentication(_ method: Method) async throws {
        var configuration = WAMPRouterConfiguration()
        var users = WAMPUsers(anonymousRole: nil)
        users.add("ann", try method.proof(), role: "admin")
        configuration.authenticator = users
        let world = World(configuration)
        let session = try await world.client(authentication: method.way(true)).joined()
        #expect(session.authID == "ann")
        #expect(session.authRole == "admin")
        #expect(session.authMethod == method.name)
        let stranger = world.client(authentication: method.way(false))
        let error = await #expect(throws: WAMPError.self) { try await stranger.joined(within: .seconds(20)) }
        #expect(error?.code == .dismissed)
    }

    @Test("the meta API lists sessions, subscriptions and registrations, and a killed session joins again")
    func meta() async throws {
        let world = World()
        let (one, two) = (world.client(), world.client())
        let victim = try await two.joined()
        _ = try await two.register(API.ping) { _, _ in }
        let left = try await one.subscribe(SessionMeta.left)
        #expect(try await one.meta.sessions.count() == 2)
        #expect(try await one.meta.sessions.list().contains(victim.id))
        #expect(try await one.meta.sessions.get(victim.id).session == victim.id)
        let registration = try #require(try await one.meta.registrations.lookup("com.app.ping"))
        #expect(try await one.meta.registrations.get(registration).uri == "com.app.ping")
        #expect(try await one.meta.registrations.callees(registration) == [victim.id])
        #expect(try await one.meta.registrations.match("com.app.ping") == registration)
        #expect(try await one.meta.subscriptions.list().exact.isEmpty == false)
        try await one.meta.sessions.kill(victim.id, reason: "com.app.enough")
        var iterator = left.makeAsyncIterator()
        #expect(try await iterator.next()?.content.0 == victim.id)
    }

    @Test("after each cut subscriptions and registrations are restored, and no call hangs")
    func cuts() async throws {
        let world = World()
        let (one, two) = (world.client(.json), world.client(.cbor))
        _ = try await two.register(API.add) { input, _ in input.0 + input.1 }
        let events = try await two.subscribe(Topic<Int>("com.app.numbers"))
        var items = events.withGaps.makeAsyncIterator()
        for round in 0..<5 {
            let session = try await two.joined()
            let calls = (0..<50).map { number in Task { try await one.call(API.add, number, round) } }
            try await one.meta.sessions.kill(session.id, reason: WAMPURI.Close.systemShutdown)
            // Each call ends with its result, or with an error because the callee is gone.
            for call in calls { _ = await call.result }
            await two.states.until { $0.session != nil && $0.session?.id != session.id }
            var sum: Int?
            while sum == nil { sum = try? await one.call(API.add, 1, round) }
            #expect(sum == 1 + round)
            guard case .gap(.reconnected)? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
            try await one.publish(Topic<Int>("com.app.numbers"), round)
            guard case .event(let event)? = try await items.next() else { throw WAMPPeer.Mismatch(message: nil) }
            #expect(event.content == round)
        }
        #expect(try await one.meta.subscriptions.list().exact.count == 1)
        #expect(try await one.meta.registrations.list().exact.count == 1)
    }

    @Test("a later subscriber that asks for the retained event gets it")
    func retained() async throws {
        let world = World()
        let (one, two) = (world.client(), world.client())
        try await one.publish(API.chat, "kept", options: PublishOptions(isAcknowledged: true, isRetained: true))
        let events = try await two.subscribe(API.chat, options: SubscribeOptions(wantsRetained: true))
        var iterator = events.makeAsyncIterator()
        let event = try #require(try await iterator.next())
        #expect(event.content == "kept")
        #expect(event.isRetained)
    }

    @Test("a testament is published after its client is gone")
    func testament() async throws {
        let world = World()
        let watcher = world.client()
        let events = try await watcher.subscribe(API.chat)
        var leaving: WAMPClient? = world.client()
        try await leaving?.addTestament(API.chat, "gone")
        leaving = nil
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next()?.content == "gone")
    }

    @Test("the router returns the last events of a subscription")
    func history() async throws {
        let world = World(WAMPRouterConfiguration(policy: RouterPolicy(historyLength: 10)))
        let (one, two) = (world.client(), world.client())
        let numbers = Topic<Int>("com.app.numbers")
        let events = try await two.subscribe(numbers)
        let id = try #require(try await two.meta.subscriptions.lookup("com.app.numbers"))
        #expect(try await two.meta.subscriptions.events(id, limit: 2).isEmpty)
        for number in 1...3 { try await one.publish(numbers, number, options: PublishOptions(isAcknowledged: true)) }
        #expect(try await two.meta.subscriptions.events(id, limit: 1).map { $0["args"] } == [[3]])
        #expect(try await two.meta.subscriptions.events(id, limit: 2).map { $0["args"] } == [[3], [2]])
        events.end()
    }
}
