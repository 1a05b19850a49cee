import CodecCore
import HoldfastTesting
import HoldfastWAMP
import WAMPCore

/// The checks for Crossbar only, which need its configuration or its procedures.
extension WAMPSuite {
    var permissions: [(String, Check)] { [("what is forbidden is refused", Self.forbidden)] }

    var revocation: [(String, Check)] {
        [
            ("a revoked subscription is reported, and made again", Self.subscriptionRevoked),
            ("a procedure removed without notice is registered again in the next session", Self.registrationRemoved),
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

    /// Crossbar 26.10.1 fails after it has removed the procedure (`forward_for` of nothing), and so notifies no client.
    ///
    /// If this check fails because Crossbar is repaired, UNREGISTERED arrives, and the procedure must be registered again without a cut.
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
