import CodecCore
import HoldfastTesting
import HoldfastWAMP
import WAMPCore

/// What is asked of Crossbar alone, since only Crossbar is configured for it, or has procedures for it.
extension WAMPSuite {
    var permissions: [(String, Check)] { [("what is forbidden is refused", Self.forbidden)] }

    var revocation: [(String, Check)] {
        [
            ("a subscription that is revoked says so, and stands again", Self.subscriptionRevoked),
            ("a procedure that is taken away without a word stands again with the next session", Self.registrationRemoved),
        ]
    }

    @Sendable private static func forbidden(_ world: WAMPWorld) async throws {
        try await Suite.refusal(uri: WAMPURI.Error.notAuthorized) { try await world.one.call("com.forbidden.thing") }
        try await Suite.refusal(uri: WAMPURI.Error.notAuthorized) { _ = try await world.one.subscribe("com.forbidden.topic") }
    }

    @Sendable private static func subscriptionRevoked(_ world: WAMPWorld) async throws {
        let events = try await world.one.subscribe("com.revoked.topic")
        let id = try await world.two.meta.subscriptions.lookup("com.revoked.topic") ?? 0
        try await world.two.call("wamp.subscription.remove_subscriber", [Value(id), try world.session(world.one), "com.test.why"])
        for try await item in events.withGaps {
            guard case .gap(let gap) = item else { continue }
            try Suite.expect(gap, .revoked(reason: "com.test.why"))
            break
        }
        try await world.ask("publish", "com.revoked.topic", [1])
        try Suite.expect(try await events.take(1), [[1]])
    }

    /// Crossbar 26.10.1 fails itself once it has taken the procedure away (`forward_for` of nothing), and so tells nobody.
    ///
    /// When this check fails because it does no longer, UNREGISTERED comes, and the procedure has to stand again without a cut.
    @Sendable private static func registrationRemoved(_ world: WAMPWorld) async throws {
        let uri = "com.revoked.procedure"
        let registration = try await world.one.register(uri) { _, _ in WAMPArguments([7]) }
        let id = try await world.two.meta.registrations.lookup(uri) ?? 0
        let own = try world.session(world.one)
        try await Suite.refusal { try await world.two.call("wamp.registration.remove_callee", [Value(id), own, "com.test.why"]) }
        try await Suite.refusal(uri: WAMPURI.Error.noSuchProcedure) { try await world.two.call(uri) }
        world.link.cut()
        while true {
            do {
                try Suite.expect(try await world.two.call(uri).list, [7])
                return registration.unregister()
            } catch let error as WAMPError where error.uri == WAMPURI.Error.noSuchProcedure {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
