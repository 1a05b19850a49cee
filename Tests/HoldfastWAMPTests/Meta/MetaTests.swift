import CodecCore
import HoldfastRouter
import HoldfastWAMP
import ProtocolStage
import Testing
import WAMPCore

@Suite("Meta API of a router", .timeLimit(.minutes(1))) struct MetaTests {
    /// A router that knows ann, an admin, and bob, a user, with a client of each.
    private func world() async throws -> (world: RouterTests.World, ann: WAMPClient, bob: WAMPClient) {
        var configuration = WAMPRouterConfiguration()
        var users = WAMPUsers(anonymousRole: nil)
        users.add("ann", .ticket("sesame"), role: "admin")
        users.add("bob", .ticket("sesame"), role: "user")
        configuration.authenticator = users
        let world = RouterTests.World(configuration)
        let ann = world.client(authentication: .ticket(user: "ann", ticket: "sesame"))
        let bob = world.client(.cbor, authentication: .ticket(user: "bob", ticket: "sesame"))
        return (world, ann, bob)
    }

    /// The next meta event of a session.
    private func next<Content, Info>(
        _ iterator: inout Events<Content>.AsyncIterator, of session: WAMPID, _ pick: (Content) -> (WAMPID, Info)
    ) async throws -> Info? {
        while let event = try await iterator.next() {
            let (other, info) = pick(event.content)
            if other == session { return info }
        }
        return nil
    }

    @Test("sessions are counted and listed by role")
    func roles() async throws {
        let (world, ann, bob) = try await world()
        let (admin, user) = (try await ann.joined().id, try await bob.joined().id)
        let sessions = ann.meta.sessions
        #expect(try await sessions.count() == 2)
        #expect(try await sessions.count(roles: ["user"]) == 1)
        #expect(try await sessions.count(roles: ["guest"]) == 0)
        #expect(try await sessions.list(roles: ["admin"]) == [admin])
        #expect(try await Set(sessions.list(roles: ["admin", "user"])) == [admin, user])
        let info = try await sessions.get(user)
        #expect(info.authid == "bob")
        #expect(info.authrole == "user")
        #expect(info.authmethod == "ticket")
        let missing = await #expect(throws: WAMPError.self) { try await sessions.get(user ^ 1) }
        #expect(missing?.uri == WAMPURI.Error.noSuchSession)
        withExtendedLifetime(world) {}
    }

    @Test("subscriptions are found by topic, with their details and subscribers")
    func subscriptions() async throws {
        let (world, ann, bob) = try await world()
        let user = try await bob.joined().id
        let events = try await bob.subscribe("com.app.", match: .prefix)
        let subscriptions = ann.meta.subscriptions
        let id = try #require(try await subscriptions.lookup("com.app.", match: .prefix))
        #expect(try await subscriptions.lookup("com.app.", match: .wildcard) == nil)
        #expect(try await subscriptions.list().prefix == [id])
        #expect(try await subscriptions.match("com.app.chat") == [id])
        #expect(try await subscriptions.match("org.app.chat") == [])
        let info = try await subscriptions.get(id)
        #expect(info.id == id)
        #expect(info.uri == "com.app.")
        #expect(info.match == "prefix")
        #expect(info.created != nil)
        #expect(try await subscriptions.subscribers(id) == [user])
        #expect(try await subscriptions.subscriberCount(id) == 1)
        let more = try await ann.subscribe("com.app.", match: .prefix)
        #expect(try await subscriptions.subscriberCount(id) == 2)
        let missing = await #expect(throws: WAMPError.self) { try await subscriptions.get(id ^ 1) }
        #expect(missing?.uri == WAMPURI.Error.noSuchSubscription)
        for events in [events, more] { events.end() }
        withExtendedLifetime(world) {}
    }

    @Test("registrations are found by procedure, with their details and callees")
    func registrations() async throws {
        let (world, ann, bob) = try await world()
        let user = try await bob.joined().id
        let options = RegisterOptions(sharing: .roundRobin)
        try await bob.register(API.add, options: options) { input, _ in input.0 + input.1 }
        let registrations = ann.meta.registrations
        let id = try #require(try await registrations.lookup("com.app.add"))
        #expect(try await registrations.lookup("com.app.add", match: .prefix) == nil)
        #expect(try await registrations.list().exact == [id])
        #expect(try await registrations.match("com.app.add") == id)
        #expect(try await registrations.match("com.app.ping") == nil)
        let info = try await registrations.get(id)
        #expect(info.id == id)
        #expect(info.uri == "com.app.add")
        #expect(info.match == "exact")
        #expect(info.invoke == "roundrobin")
        #expect(info.created != nil)
        #expect(try await registrations.callees(id) == [user])
        #expect(try await registrations.calleeCount(id) == 1)
        try await ann.register(API.add, options: options) { input, _ in input.0 + input.1 }
        #expect(try await registrations.calleeCount(id) == 2)
        let missing = await #expect(throws: WAMPError.self) { try await registrations.get(id ^ 1) }
        #expect(missing?.uri == WAMPURI.Error.noSuchRegistration)
        withExtendedLifetime(world) {}
    }

    @Test("sessions are killed by id, by authid, by role or all but one, and their clients join again")
    func kills() async throws {
        let (world, ann, bob) = try await world()
        try await ann.joined()
        let sessions = ann.meta.sessions
        var left = try await ann.subscribe(SessionMeta.left).makeAsyncIterator()
        let reason = WAMPURI.Close.systemShutdown
        for kill in [
            { try await sessions.kill(authID: "bob", reason: reason) }, { try await sessions.kill(authRole: "user", reason: reason) },
            { try await sessions.killAll(reason: reason, message: "enough") },
        ] as [@Sendable () async throws -> Int] {
            let user = try await bob.joined().id
            #expect(try await kill() == 1)
            await bob.states.until { $0.session != nil && $0.session?.id != user }
            // The previous session may not have ended yet.
            _ = try await next(&left, of: user) { ($0.0, $0.1) }
            #expect(try await sessions.list(roles: ["user"]) == [bob.joined().id])
        }
        #expect(try await sessions.kill(authID: "joe") == 0)
        #expect(try await sessions.kill(authRole: "guest") == 0)
        withExtendedLifetime(world) {}
    }

    @Test("a subscriber of meta events sees the life of each subscription")
    func subscriptionEvents() async throws {
        let (world, ann, bob) = try await world()
        let user = try await bob.joined().id
        var created = try await ann.subscribe(SubscriptionMeta.created).makeAsyncIterator()
        var subscribed = try await ann.subscribe(SubscriptionMeta.subscribed).makeAsyncIterator()
        var unsubscribed = try await ann.subscribe(SubscriptionMeta.unsubscribed).makeAsyncIterator()
        var deleted = try await ann.subscribe(SubscriptionMeta.deleted).makeAsyncIterator()
        let events = try await bob.subscribe(API.chat)
        let info = try #require(try await next(&created, of: user) { $0 })
        #expect(info.uri == "com.app.chat")
        #expect(info.match == "exact")
        #expect(try await next(&subscribed, of: user) { $0 } == info.id)
        events.end()
        #expect(try await next(&unsubscribed, of: user) { $0 } == info.id)
        #expect(try await next(&deleted, of: user) { $0 } == info.id)
        withExtendedLifetime(world) {}
    }

    @Test("a subscriber of meta events sees the life of each registration")
    func registrationEvents() async throws {
        let (world, ann, bob) = try await world()
        let user = try await bob.joined().id
        var created = try await ann.subscribe(RegistrationMeta.created).makeAsyncIterator()
        var registered = try await ann.subscribe(RegistrationMeta.registered).makeAsyncIterator()
        var unregistered = try await ann.subscribe(RegistrationMeta.unregistered).makeAsyncIterator()
        var deleted = try await ann.subscribe(RegistrationMeta.deleted).makeAsyncIterator()
        let registration = try await bob.register(API.ping) { _, _ in }
        let info = try #require(try await next(&created, of: user) { $0 })
        #expect(info.uri == "com.app.ping")
        #expect(info.invoke == "single")
        #expect(try await next(&registered, of: user) { $0 } == info.id)
        registration.unregister()
        #expect(try await next(&unregistered, of: user) { $0 } == info.id)
        #expect(try await next(&deleted, of: user) { $0 } == info.id)
        withExtendedLifetime(world) {}
    }

    @Test("a subscriber of meta events sees sessions join and leave")
    func sessionEvents() async throws {
        let (world, ann, bob) = try await world()
        var joined = try await ann.subscribe(SessionMeta.joined).makeAsyncIterator()
        var left = try await ann.subscribe(SessionMeta.left).makeAsyncIterator()
        let user = try await bob.joined().id
        // Bob may have joined before ann subscribed; then his next join is the event.
        try await ann.meta.sessions.kill(user, reason: WAMPURI.Close.systemShutdown)
        let who = try #require(try await next(&left, of: user) { ($0.0, ($0.1, $0.2)) })
        #expect(who == ("bob", "user"))
        await bob.states.until { $0.session != nil && $0.session?.id != user }
        let again = try await bob.joined().id
        let info = try #require(try await next(&joined, of: again) { ($0.session, $0) })
        #expect(info.authid == "bob")
        withExtendedLifetime(world) {}
    }
}
