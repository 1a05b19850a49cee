import CodecCore
import HoldfastWAMP
import WAMPCore

extension WAMPSuite {
    /// The checks for every router.
    var topics: [(String, Check)] {
        [
            ("events from Python arrive in the order of their publication", Self.order),
            ("Python gets our publications", Self.heard),
            ("two streams share a subscription, and end separately", Self.shared),
        ]
    }

    var advancedTopics: [(String, Check)] {
        [
            ("an event does not come back to its publisher, unless requested", Self.exclusion),
            ("an event reaches eligible sessions, and not excluded ones", Self.audience),
            ("subscriptions with a prefix or a pattern get events with their topics", Self.patterns),
            ("a retained event reaches later subscribers that request it", Self.retained),
        ]
    }

    @Sendable private static func order(_ world: WAMPWorld) async throws {
        let events = try await world.one.subscribe("com.order")
        try await world.ask("publish", "com.order", keywords: ["count": 200])
        try Suite.expect(try await events.take(200), (0..<200).map { [.integer(Int64($0))] })
    }

    @Sendable private static func heard(_ world: WAMPWorld) async throws {
        try await world.ask("listen", "com.ours.news")
        let publication = try await world.one.publish(
            "com.ours.news", [1, [2]], keywords: ["three": ["four": 5]], options: PublishOptions(isAcknowledged: true))
        try Suite.expect((publication ?? 0) > 0, true)
        try await world.one.publish(Topic<(Int, String)>("com.ours.news"), (2, "two"))
        let heard = try await world.ask("heard", "com.ours.news", 2)
        try Suite.expect(heard[0]?["args"], [1, [2]])
        try Suite.expect(heard[0]?["kwargs"], ["three": ["four": 5]])
        try Suite.expect(heard[1]?["args"], [2, "two"])
    }

    @Sendable private static func shared(_ world: WAMPWorld) async throws {
        let first = try await world.one.subscribe("com.both")
        let second = try await world.one.subscribe("com.both")
        try await world.ask("publish", "com.both", [1])
        try Suite.expect(try await first.take(1), [[1]])
        try Suite.expect(try await second.take(1), [[1]])
        first.end()
        try await world.ask("publish", "com.both", [2])
        try Suite.expect(try await second.take(1), [[2]])
    }

    @Sendable private static func exclusion(_ world: WAMPWorld) async throws {
        let events = try await world.one.subscribe("com.own")
        try await world.one.publish("com.own", [1], options: PublishOptions(isAcknowledged: true))
        try await world.one.publish("com.own", [2], options: PublishOptions(isAcknowledged: true, excludesMe: false))
        try Suite.expect(try await events.take(1), [[2]])
    }

    @Sendable private static func audience(_ world: WAMPWorld) async throws {
        guard let first = world.one.state.session, let second = world.two.state.session else {
            throw Suite.Failure(description: "not joined")
        }
        let one = try await world.one.subscribe("com.audience")
        let two = try await world.two.subscribe("com.audience")
        let acknowledged = PublishOptions(isAcknowledged: true, excludesMe: false)
        var options = acknowledged
        options.excluded.sessions = [first.id]
        try await world.one.publish("com.audience", [1], options: options)
        options = acknowledged
        options.eligible.sessions = [first.id]
        try await world.one.publish("com.audience", [2], options: options)
        options = acknowledged
        options.excluded.authIDs = [first.authID ?? ""]
        try await world.one.publish("com.audience", [3], options: options)
        options = acknowledged
        options.eligible.authRoles = ["nobody"]
        try await world.one.publish("com.audience", [4], options: options)
        options.eligible.authRoles = [second.authRole ?? ""]
        try await world.one.publish("com.audience", [5], options: options)
        try Suite.expect(try await one.take(2), [[2], [5]])
        try Suite.expect(try await two.take(3), [[1], [3], [5]])
    }

    @Sendable private static func patterns(_ world: WAMPWorld) async throws {
        let prefix = try await world.one.subscribe("com.news.", match: .prefix)
        let wildcard = try await world.one.subscribe("com..today", match: .wildcard)
        for (number, topic) in ["com.news.today", "com.news.tomorrow", "com.weather.today"].enumerated() {
            try await world.ask("publish", .text(topic), [.integer(Int64(number))])
        }
        for (events, wanted) in [(prefix, ["com.news.today", "com.news.tomorrow"]), (wildcard, ["com.news.today", "com.weather.today"])] {
            var topics: [String] = []
            for try await event in events {
                topics.append(event.topic)
                if topics.count == wanted.count { break }
            }
            try Suite.expect(topics, wanted)
        }
    }

    @Sendable private static func retained(_ world: WAMPWorld) async throws {
        try await world.ask("publish", "com.kept", [1], keywords: ["retain": true])
        try await world.two.publish("com.kept", [2], options: PublishOptions(isAcknowledged: true, isRetained: true))
        let events = try await world.one.subscribe("com.kept", options: SubscribeOptions(wantsRetained: true))
        try Suite.expect(try await events.take(1), [[2]])
        try await world.ask("listen", "com.kept", keywords: ["get_retained": true])
        try Suite.expect(try await world.ask("heard", "com.kept", 1)[0]?["args"], [2])
    }
}
