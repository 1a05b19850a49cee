import CodecCore
import HoldfastTesting
import HoldfastWAMP
import WAMPCore

extension WAMPSuite {
    var meta: [(String, Check)] {
        [
            ("the meta API knows sessions, subscriptions and registrations", Self.looked),
            ("the meta API reports sessions that join", Self.joins),
            ("a killed session joins again", Self.killed),
            ("a testament is published when its session is lost", Self.testament),
        ]
    }

    /// What survives the loss of a connection.
    var losses: [(String, Check)] {
        [("after a loss, calls have ended, and subscriptions and procedures stand again", Self.lost)]
    }

    /// The same without the checks that fail with a router that keeps lost sessions.
    var sloppyLosses: [(String, Check)] {
        [("after a loss, calls have ended, and streams go on", { _ = try await Self.lose($0) })]
    }

    @Sendable private static func looked(_ world: WAMPWorld) async throws {
        let meta = world.one.meta
        let ids = try await meta.sessions.list()
        try Suite.expect(try await meta.sessions.count(), ids.count)
        guard let own = world.one.state.session else { throw Suite.Failure(description: "not joined") }
        try Suite.expect(ids.contains(own.id), true)
        try Suite.expect(try await meta.sessions.get(own.id).authid, own.authID)
        let events = try await world.one.subscribe("com.looked.up")
        let subscription = try await meta.subscriptions.lookup("com.looked.up") ?? 0
        try Suite.expect(try await meta.subscriptions.subscribers(subscription), [own.id])
        try Suite.expect(try await meta.subscriptions.subscriberCount(subscription), 1)
        try Suite.expect(try await meta.subscriptions.match("com.looked.up"), [subscription])
        try Suite.expect(try await meta.subscriptions.get(subscription).uri, "com.looked.up")
        events.end()
        let registration = try await meta.registrations.match("com.partner.add2") ?? 0
        try Suite.expect(try await meta.registrations.callees(registration), [try await world.partner()])
        try Suite.expect(try await meta.registrations.calleeCount(registration), 1)
        try Suite.expect(try await meta.registrations.get(registration).uri, "com.partner.add2")
        try await Suite.refusal(uri: WAMPURI.Error.noSuchSession) { _ = try await meta.sessions.get(1) }
    }

    @Sendable private static func joins(_ world: WAMPWorld) async throws {
        let events = try await world.one.subscribe(SessionMeta.joined)
        let guest = WAMPClient(world.suite.url, realm: world.suite.realm)
        let joined = try await guest.joined(within: .seconds(5))
        for try await event in events where event.content.session == joined.id { break }
        await guest.close()
    }

    @Sendable private static func killed(_ world: WAMPWorld) async throws {
        let events = try await world.one.subscribe("com.after.kill")
        guard let before = world.one.state.session else { throw Suite.Failure(description: "not joined") }
        try await world.two.meta.sessions.kill(before.id, reason: "com.test.because", message: "because")
        try await joined(world.one, after: before)
        for try await item in events.withGaps {
            if case .gap = item { break }
        }
        try await world.ask("publish", "com.after.kill", [1])
        try Suite.expect(try await events.take(1), [[1]])
    }

    @Sendable private static func testament(_ world: WAMPWorld) async throws {
        let events = try await world.two.subscribe("com.last.will")
        try await world.one.addTestament(Topic<String>("com.last.will"), "farewell")
        let before = try await world.one.joined()
        world.link.cut(.rst)
        try Suite.expect(try await events.take(1), [["farewell"]])
        // The router may detect the loss first.
        try await joined(world.one, after: before)
    }

    /// Waits for another session than this.
    private static func joined(_ client: WAMPClient, after before: JoinedSession) async throws {
        for await state in client.states {
            if let session = state.session, session.id != before.id { break }
            if case .closed(let error) = state { throw Suite.Failure(description: "closed: \(error.map { "\($0)" } ?? "")") }
        }
    }

    /// Cuts the link during a call, and returns a stream that has survived.
    private static func lose(_ world: WAMPWorld) async throws -> Events<WAMPArguments> {
        let events = try await world.one.subscribe("com.outlives")
        let call = try await slow(world) { try await world.one.call("com.partner.slow") }
        world.link.cut()
        try await Suite.refusal(.connectionLost) { _ = try await call.value }
        for try await item in events.withGaps {
            if case .gap(let gap) = item {
                try Suite.expect(gap, .reconnected)
                break
            }
        }
        return events
    }

    @Sendable private static func lost(_ world: WAMPWorld) async throws {
        let standing = try await world.one.register(Procedure<Int, Int>("com.ours.outlives")) { number, _ in number + 1 }
        let events = try await lose(world)
        try await world.ask("publish", "com.outlives", [1])
        try Suite.expect(try await events.take(1), [[1]])
        while !standing.isStanding { try await Task.sleep(for: .milliseconds(20)) }
        try Suite.expect(try await world.relay("com.ours.outlives", [1])["args"], [2])
        standing.unregister()
    }

    @Sendable static func history(_ world: WAMPWorld) async throws {
        // Crossbar keeps only events that had a subscriber.
        let witness = try await world.two.subscribe("com.history.exact")
        defer { witness.end() }
        let events = try await world.one.subscribe("com.history.exact", options: SubscribeOptions(historyAfterGap: 20))
        try await world.ask("publish", "com.history.exact", ["before"])
        try Suite.expect(try await events.take(1), [["before"]])
        world.link.refuse()
        world.link.cut()
        // Events that are published before the client has noticed the cut may still arrive.
        for await state in world.one.states where state.session == nil { break }
        for number in 1...3 { try await world.ask("publish", "com.history.exact", [.integer(Int64(number))]) }
        world.link.welcome()
        var came: [Value] = []
        for try await item in events.withGaps {
            switch item {
            case .event(let event): came.append(.array(try event.content.list))
            case .gap(let gap): try Suite.expect(gap, .filled(events: 3))
            case .undecodable(let error): throw error
            }
            if came.count == 3 { break }
        }
        try Suite.expect(came, [[1], [2], [3]])
        let subscription = try await world.one.meta.subscriptions.lookup("com.history.exact")
        try Suite.expect(try await world.one.meta.subscriptions.events(subscription ?? 0, limit: 2).count, 2)
        try await world.ask("publish", "com.history.exact", ["after"])
        try Suite.expect(try await events.take(1), [["after"]])
    }
}
