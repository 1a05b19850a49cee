import Foundation
import HoldfastGraphQL
import WebSocketCore
import WebSocketRuntime

/// The checks of our GraphQL client against servers of others; each prints `ok NAME` or `not ok NAME: why`.
struct GraphQLRows {
    typealias Operation = GraphQLOperation<Value, Value>
    /// A check and its name.
    typealias Row = (name: String, check: @Sendable () async throws -> Void)

    let strawberry: Int
    let ariadne: Int
    let scripted: Int

    func run() async -> Bool {
        var allPassed = true
        for (name, check) in rows {
            do {
                try await Suite.withDeadline(.seconds(30)) { try await check() }
                print("ok \(name)")
            } catch {
                print("not ok \(name): \(error)")
                allPassed = false
            }
        }
        return allPassed
    }

    private var rows: [Row] {
        let peers: [(String, String, GraphQLProtocol)] = [
            ("strawberry", "\(strawberry)/graphql", .transportWS), ("strawberry legacy", "\(strawberry)/graphql", .legacy),
            ("ariadne", "\(ariadne)/graphql", .transportWS), ("ariadne legacy", "\(ariadne)/legacy", .legacy),
        ]
        return peers.flatMap { name, place, version in common(name, place, version) } + strawberryRows + ariadneRows + scriptedRows
    }

    private func client(
        _ place: String, _ protocols: [GraphQLProtocol] = [.transportWS, .legacy], _ change: (inout GraphQLOptions) -> Void = { _ in },
        payload: GraphQLPayload? = nil
    ) -> GraphQLClient {
        var options = GraphQLOptions()
        options.protocols = protocols
        change(&options)
        let configure = { (socket: inout WebSocketOptions) in
            socket.reconnect.backoff = Backoff(base: .milliseconds(10), cap: .milliseconds(200), minimum: .milliseconds(1))
            socket.reconnect.spacing = .milliseconds(1)
            socket.connection.limits.message = 8 << 20
        }
        return GraphQLClient("ws://127.0.0.1:\(place)", options: options, payload: payload, configure: configure)
    }

    // MARK: - Every server, both protocols

    private func common(_ name: String, _ place: String, _ version: GraphQLProtocol) -> [Row] {
        [
            ("\(name): a subscription gives its events in order, and ends", { try await counts(place, version) }),
            ("\(name): a query is answered", { try await asks(place, version) }),
            ("\(name): ten subscriptions share a connection", { try await countsAtOnce(place, version) }),
            ("\(name): a cancelled subscription ends, and the others go on", { try await cancels(place, version) }),
            ("\(name): an error in the middle arrives with the events before it", { try await failsInTheMiddle(place, version) }),
            ("\(name): a bad operation fails alone", { try await refusesOne(place, version) }),
            ("\(name): typed data is decoded", { try await decodes(place, version) }),
        ]
    }

    private func counts(_ place: String, _ version: GraphQLProtocol) async throws {
        let client = client(place, [version])
        try Suite.expect(try await numbers(client, "subscription { count(to: 100) }"), Array(0..<100))
        try Suite.expect(client.socket.state.isConnected, true)
        await client.close()
    }

    private func asks(_ place: String, _ version: GraphQLProtocol) async throws {
        let client = client(place, [version])
        let operation = Operation("query Q($n: String) { hello(name: $n) }", name: "Q", variables: ["n": "ann"])
        let response = try await answer(client, operation)
        // Strawberry allows only subscriptions in the legacy protocol.
        let isAllowed = !(version == .legacy && place.hasPrefix("\(strawberry)"))
        try Suite.expect(response, isAllowed ? "hello ann" : nil)
        await client.close()
    }

    private func answer(_ client: GraphQLClient, _ operation: Operation) async throws -> String? {
        do throws(GraphQLFailure) { return try await client.query(operation).complete()["hello"]?.string } catch {
            guard error.code == .refused else { throw error }
            return nil
        }
    }

    private func countsAtOnce(_ place: String, _ version: GraphQLProtocol) async throws {
        let client = client(place, [version])
        try await withThrowingTaskGroup { group in
            for number in 1...10 {
                group.addTask {
                    try Suite.expect(try await numbers(client, "subscription { count(to: \(number * 5)) }"), Array(0..<number * 5))
                }
            }
            try await group.waitForAll()
        }
        await client.close()
    }

    private func cancels(_ place: String, _ version: GraphQLProtocol) async throws {
        let client = client(place, [version])
        // Ariadne may end the connection for it in the legacy protocol; then the other one begins again.
        async let other = last(client, "subscription { count(to: 50, delayMs: 10) }")
        let endless = Operation("subscription { count(to: 100000, delayMs: 1) }")
        for try await event in client.subscribe(endless) where event.data?["count"]?.int == 5 {
            break
        }
        try Suite.expect(try await other, 49)
        await client.close()
    }

    private func failsInTheMiddle(_ place: String, _ version: GraphQLProtocol) async throws {
        let client = client(place, [version])
        var (numbers, errors): ([Int], [GraphQLError]) = ([], [])
        do {
            for try await event in client.subscribe(Operation("subscription { failsAt(at: 3) }")) {
                guard case .response(let response) = event else { continue }
                if let number = response.data?["failsAt"]?.int { numbers.append(number) }
                errors += response.errors
            }
        } catch {
            errors += error.errors
        }
        try Suite.expect(numbers, [0, 1, 2])
        try Suite.expect(errors.contains { $0.message.contains("boom") }, true)
        await client.close()
    }

    /// Strawberry closes the whole connection for a syntax error: the others stand again, and only the bad one fails.
    private func refusesOne(_ place: String, _ version: GraphQLProtocol) async throws {
        let client = client(place, [version])
        async let good = last(client, "subscription { count(to: 300, delayMs: 5) }")
        try await Task.sleep(for: .milliseconds(200))
        do {
            for try await event in client.subscribe(Operation("subscription { count(to: ")) {
                guard case .response(let response) = event, !response.errors.isEmpty else { continue }
                throw GraphQLFailureSeen()
            }
            throw Suite.Failure(description: "it ended without an error")
        } catch let failure as GraphQLFailure {
            try Suite.expect([.refused, .rejected].contains(failure.code), true)
        } catch is GraphQLFailureSeen {}
        try Suite.expect(try await good, 299)
        await client.close()
    }

    private struct GraphQLFailureSeen: Error {}

    private func decodes(_ place: String, _ version: GraphQLProtocol) async throws {
        struct Count: Decodable { var count: Int }
        let client = client(place, [version])
        let operation = GraphQLOperation("subscription S($to: Int!) { count(to: $to) }", variables: ["to": 3], data: Count.self)
        var numbers: [Int] = []
        for try await event in client.subscribe(operation) { if let data = event.data { numbers.append(data.count) } }
        try Suite.expect(numbers, [0, 1, 2])
        await client.close()
    }

    // MARK: - One server

    private var strawberryRows: [Row] {
        [
            (
                "strawberry: a token of the payload arrives",
                {
                    let client = client("\(strawberry)/graphql", payload: { ["token": "abc"] })
                    for try await event in client.subscribe(Operation("subscription { whoami }")) {
                        try Suite.expect(event.data?["whoami"]?.string, "abc")
                    }
                    await client.close()
                }
            ),
            (
                "strawberry: errors of a field come with the rest of the data",
                {
                    let client = client("\(strawberry)/graphql")
                    var errors = 0
                    var halves: [Value?] = []
                    for try await event in client.subscribe(Operation("subscription { items { v half } }")) {
                        guard case .response(let response) = event else { continue }
                        errors += response.errors.count
                        halves.append(response.data?["items"]?["half"])
                    }
                    try Suite.expect(errors, 1)
                    try Suite.expect(halves, [0, .null, 1])
                    await client.close()
                }
            ),
            (
                "strawberry: a bad token is refused with 4403, and the next payload is accepted",
                {
                    let asked = LockedValue(0)
                    let client = client(
                        "\(strawberry)/secure",
                        payload: {
                            let count = asked.withLockedValue { asked in
                                asked += 1
                                return asked
                            }
                            return ["token": count < 3 ? "bad" : "good"]
                        })
                    try await client.ready(within: .seconds(20))
                    try Suite.expect(client.acknowledgement?["user"]?.string, "ann")
                    try Suite.expect(asked.withLockedValue { $0 }, 3)
                    await client.close()
                }
            ),
            ("strawberry: a token that stays bad ends the client", { try await refused("\(strawberry)/secure", .transportWS) }),
            ("strawberry legacy: a token that stays bad ends the client", { try await refused("\(strawberry)/secure", .legacy) }),
            (
                "strawberry: an event of 4 MiB arrives",
                {
                    let client = client("\(strawberry)/graphql")
                    for try await event in client.subscribe(Operation("subscription { big(bytes: 4194304) }")) {
                        try Suite.expect(event.data?["big"]?.string?.utf8.count, 4_194_304)
                    }
                    await client.close()
                }
            ),
        ]
    }

    private var ariadneRows: [Row] {
        [
            (
                "ariadne: a bad token, which it answers with 1000, ends the client",
                { try await refused("\(ariadne)/graphql", .transportWS) }
            ),
            ("ariadne legacy: a bad token ends the client", { try await refused("\(ariadne)/legacy", .legacy) }),
            (
                "ariadne: with a protocol that it does not speak there is no connection",
                {
                    let client = client("\(ariadne)/legacy", [.transportWS])
                    do {
                        try await client.ready(within: .seconds(3))
                        throw Suite.Failure(description: "it was accepted")
                    } catch is GraphQLFailure {}
                    await client.close()
                }
            ),
        ]
    }

    private func refused(_ place: String, _ version: GraphQLProtocol) async throws {
        let client = client(place, [version], payload: { ["token": "bad"] })
        do {
            for try await _ in client.subscribe(Operation("subscription { count(to: 1) }")) {}
            throw Suite.Failure(description: "it was accepted")
        } catch let failure as GraphQLFailure { try Suite.expect(failure.code, .connectionRefused) }
        await client.close()
    }

    private var scriptedRows: [Row] {
        let simple = [
            "ping-first": "a ping before the acknowledgement is answered", "late": "results of unknown and ended operations are ignored",
            "badjson": "after invalid JSON the client reconnects", "unknown-type": "an unknown type is ignored",
            "binary": "a binary message is ignored", "wrong-first": "after a result before the acknowledgement the client reconnects",
            "never-ack": "without an acknowledgement the client reconnects", "silent": "without pongs the client reconnects",
            "close-4500": "after 4500 the client reconnects", "close-1011": "after 1011 the client reconnects",
            "close-1012": "after 1012 the client reconnects", "close-4401": "after 4401 the client reconnects",
            "close-4429": "after 4429 the client reconnects", "close-1000": "after 1000 the client reconnects while it has subscriptions",
        ]
        return simple.keys.sorted().flatMap { path in answering(path, simple[path] ?? "") } + otherScriptedRows
    }

    /// The check that a path answers one operation with one result.
    private func answering(_ path: String, _ name: String) -> [Row] {
        [("scripted \(path): \(name)", { try await answersOnce(path) })]
    }

    private var otherScriptedRows: [Row] {
        [
            (
                "scripted drop-3: each loss is told as a gap, and no event comes twice",
                {
                    let client = client("\(scripted)/drop-3", [.transportWS])
                    var (values, gaps): ([Int], Int) = ([], 0)
                    for try await event in client.subscribe(Operation("subscription { v }")) {
                        if let v = event.data?["v"]?.int { values.append(v) }
                        if event.isGap { gaps += 1 }
                        if values.count >= 30 { break }
                    }
                    try Suite.expect(values, Array(1...30))
                    try Suite.expect(gaps, 9)
                    await client.close()
                }
            ),
            ("scripted no-subproto: no subprotocol is refused", { try await hasNoSubprotocol("no-subproto", .noSubprotocol) }),
            (
                "scripted wrong-subproto: another subprotocol is refused",
                { try await hasNoSubprotocol("wrong-subproto", .invalidHandshake) }
            ),
        ]
    }

    private func answersOnce(_ path: String) async throws {
        let client = client("\(scripted)/\(path)", [.transportWS]) { options in
            (options.acknowledgementTimeout, options.pingInterval) = (.seconds(1), .milliseconds(500))
            options.pongTimeout = .milliseconds(500)
        }
        var values: [Int] = []
        for try await event in client.subscribe(Operation("subscription { v }")) { if let v = event.data?["v"]?.int { values.append(v) } }
        try Suite.expect(values, [1])
        await client.close()
    }

    private func hasNoSubprotocol(_ path: String, _ code: WebSocketError.Code) async throws {
        let client = client("\(scripted)/\(path)", [.transportWS])
        do {
            try await client.ready(within: .seconds(20))
            throw Suite.Failure(description: "it was accepted")
        } catch let failure as GraphQLFailure { try Suite.expect((failure.underlying as? WebSocketError)?.code, code) }
        await client.close()
    }

    // MARK: - Reading

    private func numbers(_ client: GraphQLClient, _ document: String) async throws -> [Int] {
        var numbers: [Int] = []
        for try await event in client.subscribe(Operation(document)) {
            if let number = event.data?["count"]?.int { numbers.append(number) }
        }
        return numbers
    }

    private func last(_ client: GraphQLClient, _ document: String) async throws -> Int? { try await numbers(client, document).last }
}
