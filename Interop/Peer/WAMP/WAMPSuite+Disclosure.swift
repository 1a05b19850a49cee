import CodecCore
import HoldfastWAMP
import WAMPCore

/// Disclosure of callers and publishers, where it is requested and not elsewhere.
extension WAMPSuite {
    /// The checks for routers that disclose at the request of one side.
    var wishedDisclosure: [(String, Check)] {
        [
            ("a caller is disclosed only on its request", Self.callerWishes),
            ("a caller is disclosed only on the callee's request", Self.calleeWishes),
            ("a publisher is disclosed only on its request", Self.publisherWishes),
        ]
    }

    /// The checks for Crossbar, whose configuration lists the URIs with disclosure.
    var grantedDisclosure: [(String, Check)] {
        [
            ("a caller is disclosed only if configured", Self.callerGranted),
            ("a publisher is disclosed only if configured", Self.publisherGranted),
        ]
    }

    private static let wishes: [Bool?] = [nil, false, true]

    @Sendable private static func callerWishes(_ world: WAMPWorld) async throws {
        for wish in wishes {
            let told = try await world.one.call("com.partner.caller", options: CallOptions(discloseMe: wish)).list.first
            try Suite.expect(told?[0], wish == true ? try world.session(world.one) : .null)
            try Suite.expect(told?[1]?.string, wish == true ? world.one.state.session?.authID : nil)
        }
    }

    @Sendable private static func calleeWishes(_ world: WAMPWorld) async throws {
        for wish in [false, true] {
            let uri = "com.ours.caller.\(wish)"
            let options = RegisterOptions(other: ["disclose_caller": .bool(wish)])
            let registration = try await world.one.register(uri, options: options) { _, invocation in answer(invocation) }
            try Suite.expect(try await world.relay(uri)["args"], [wish ? Value(try await world.partner()) : "nobody"])
            registration.unregister()
        }
    }

    @Sendable private static func publisherWishes(_ world: WAMPWorld) async throws {
        let topic = "com.ours.confession"
        try await world.ask("listen", .text(topic))
        let events = try await world.two.subscribe(topic)
        for wish in wishes { try await world.one.publish(topic, options: PublishOptions(isAcknowledged: true, discloseMe: wish)) }
        let own = try world.session(world.one)
        let heard = try await world.ask("heard", .text(topic), 3)
        for (number, wish) in wishes.enumerated() { try Suite.expect(heard[number]?["publisher"], wish == true ? own : .null) }
        try Suite.expect(try await publishers(events, 3), ["nobody", "nobody", own])
    }

    @Sendable private static func callerGranted(_ world: WAMPWorld) async throws {
        for (uri, isGranted) in [("com.ours.caller", false), ("com.disclosed.ours", true)] {
            let registration = try await world.one.register(uri) { _, invocation in answer(invocation) }
            try Suite.expect(try await world.relay(uri)["args"], [isGranted ? Value(try await world.partner()) : "nobody"])
            registration.unregister()
        }
        for (uri, isGranted) in [("com.partner.caller", false), ("com.disclosed.caller", true)] {
            let told = try await world.one.call(uri).list.first
            try Suite.expect(told?[0], isGranted ? try world.session(world.one) : .null)
        }
    }

    @Sendable private static func publisherGranted(_ world: WAMPWorld) async throws {
        for (topic, isGranted) in [("com.secret.topic", false), ("com.disclosed.topic", true)] {
            let events = try await world.one.subscribe(topic)
            try await world.ask("publish", .text(topic), [1])
            try Suite.expect(try await publishers(events, 1), [isGranted ? Value(try await world.partner()) : "nobody"])
            try await world.ask("listen", .text(topic))
            try await world.one.publish(topic)
            let heard = try await world.ask("heard", .text(topic), 1)
            try Suite.expect(heard[0]?["publisher"], isGranted ? try world.session(world.one) : .null)
        }
    }

    private static func answer(_ invocation: Invocation) -> WAMPArguments {
        WAMPArguments([invocation.caller.map { Value($0) } ?? "nobody"])
    }

    private static func publishers(_ events: Events<WAMPArguments>, _ count: Int) async throws -> [Value] {
        var publishers: [Value] = []
        for try await event in events {
            publishers.append(event.publisher.map { Value($0) } ?? "nobody")
            if publishers.count == count { break }
        }
        return publishers
    }
}
