import CodecCore
import HoldfastWAMP
import WAMPCore

extension WAMPSuite {
    /// Procedures of ours that the Python client calls.
    var callee: [(String, Check)] {
        [
            ("Python calls a procedure of ours", Self.called),
            ("a handler may call others", Self.nested),
        ]
    }

    var advancedCallee: [(String, Check)] {
        [
            ("a handler's error has its URI and arguments", Self.handlerFails),
            ("a handler sends its result in parts", Self.handlerProgress),
            ("a caller that cancels interrupts the handler", Self.interrupted),
            ("a procedure is registered once", Self.offeredTwice),
            ("an unregistered procedure is free again", Self.givenUp),
            ("procedures with a prefix or a pattern learn which URI was called", Self.patterns),
            ("shared registrations are called in turn", Self.shared),
            ("input comes in parts, if the router supports it", Self.inputInParts),
        ]
    }

    @Sendable private static func called(_ world: WAMPWorld) async throws {
        let add = Procedure<(Int, Int), Int>("com.ours.add")
        let registration = try await world.one.register(add) { input, _ in input.0 + input.1 }
        try Suite.expect(try await world.relay("com.ours.add", [20, 22])["args"], [42])
        registration.unregister()
    }

    @Sendable private static func nested(_ world: WAMPWorld) async throws {
        let twice = Procedure<Int, Int>("com.ours.twice")
        let registration = try await world.one.register(twice) { number, _ in
            try await world.one.call(PartnerAPI.add, number, number)
        }
        try Suite.expect(try await world.two.call(twice, 21), 42)
        registration.unregister()
    }

    @Sendable private static func givenUp(_ world: WAMPWorld) async throws {
        let name = Procedure<Void, String>("com.ours.name")
        let first = try await world.one.register(name) { _, _ in "one" }
        first.unregister()
        // The name is free only after the router has processed the unregistration, so this retries.
        while true {
            let second: Registration
            do {
                second = try await world.two.register(name) { _, _ in "two" }
            } catch {
                guard error.uri == WAMPURI.Error.procedureAlreadyExists else { throw error }
                continue
            }
            try Suite.expect(try await world.one.call(name), "two")
            return second.unregister()
        }
    }

    @Sendable private static func handlerFails(_ world: WAMPWorld) async throws {
        let registration = try await world.one.register("com.ours.fail") { _, _ in
            throw WAMPFailure("com.ours.error", ["why"], keywords: ["code": 7])
        }
        let result = try await world.relay("com.ours.fail")
        try Suite.expect(result["error"], "com.ours.error")
        try Suite.expect(result["args"], ["why"])
        try Suite.expect(result["kwargs"], ["code": 7])
        registration.unregister()
    }

    @Sendable private static func handlerProgress(_ world: WAMPWorld) async throws {
        let registration = try await world.one.register(Procedure<Int, Int>("com.ours.count")) { count, invocation in
            for number in 1..<count { try await invocation.progress(number) }
            return count
        }
        let result = try await world.relay("com.ours.count", [4])
        try Suite.expect(result["parts"], [[1], [2], [3]])
        try Suite.expect(result["args"], [4])
        registration.unregister()
    }

    @Sendable private static func interrupted(_ world: WAMPWorld) async throws {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let registration = try await world.one.register("com.ours.slow") { _, _ in
            do {
                try await Task.sleep(for: .seconds(30))
            } catch {
                end.yield(true)
                throw error
            }
            return .none
        }
        let result = try await world.relay("com.ours.slow", keywords: ["cancel_after": 0.2])
        try Suite.expect(result["error"], "cancelled")
        for await _ in ends { break }
        registration.unregister()
    }

    @Sendable private static func offeredTwice(_ world: WAMPWorld) async throws {
        let registration = try await world.one.register("com.ours.once") { _, _ in .none }
        try await Suite.refusal(uri: WAMPURI.Error.procedureAlreadyExists) {
            _ = try await world.two.register("com.ours.once") { _, _ in .none }
        }
        registration.unregister()
    }

    @Sendable private static func patterns(_ world: WAMPWorld) async throws {
        for (pattern, match, uri) in [
            ("com.ours.family.", WAMPMatch.prefix, "com.ours.family.a.b"), ("com.ours..ending", .wildcard, "com.ours.happy.ending"),
        ] {
            let registration = try await world.one.register(pattern, options: RegisterOptions(match: match)) { _, invocation in
                WAMPArguments([.text(invocation.uri)])
            }
            try Suite.expect(try await world.relay(uri)["args"], [.text(uri)])
            registration.unregister()
        }
        try Suite.expect(try await world.one.call("com.partner.family.x").list.first?[2], "com.partner.family.x")
    }

    @Sendable private static func shared(_ world: WAMPWorld) async throws {
        let name = Procedure<Void, String>("com.ours.shared")
        let options = RegisterOptions(sharing: .roundRobin)
        let first = try await world.one.register(name, options: options) { _, _ in "one" }
        let second = try await world.two.register(name, options: options) { _, _ in "two" }
        var names: [String] = []
        for _ in 0..<6 { names.append(try await world.relay("com.ours.shared")["args"]?[0]?.string ?? "?") }
        try Suite.expect(names.sorted(), ["one", "one", "one", "two", "two", "two"])
        try Suite.expect(names[0] != names[1], true)
        first.unregister()
        second.unregister()
    }

    @Sendable private static func inputInParts(_ world: WAMPWorld) async throws {
        let registration = try await world.one.register("com.ours.sum") { first, invocation in
            var sum = try first.list.first?.int ?? 0
            for await part in invocation.parts { sum += try part.list.first?.int ?? 0 }
            return WAMPArguments([.integer(Int64(sum))])
        }
        defer { registration.unregister() }
        let call = try world.two.callInParts("com.ours.sum", [1])
        do {
            try await call.send([20])
            try await call.finish([300])
            try Suite.expect(try await call.result().list, [321])
        } catch let error as WAMPError {
            // Crossbar makes a new invocation for each part, and does not announce the feature.
            guard world.suite.router == .crossbar else { throw error }
            try Suite.expect(error.code, .unsupported)
        }
    }
}
