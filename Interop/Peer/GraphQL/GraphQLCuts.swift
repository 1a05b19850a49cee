import Foundation
import HoldfastGraphQL
import HoldfastTesting
import WebSocketCore
import WebSocketRuntime

/// Mutations and subscriptions over links that are cut, to a server that is killed.
///
/// The server writes each mutation that it carries out into a file. A subscription gets the number of each.
struct GraphQLCuts {
    typealias Operation = GraphQLOperation<Value, Value>
    /// The file of the server.
    let file: String
    /// Starts the server, followed by a port and the file.
    let command: [String]
    let cuts: Int
    let kills: Int

    private struct Followed {
        var faults: [String] = []
        var (events, gaps, last) = (0, 0, 0)
        var mayMiss = true

        mutating func note(_ event: GraphQLEvent<Value>) {
            if event.isGap { (gaps, mayMiss) = (gaps + 1, true) }
            guard let number = event.data?["added"]?.int else { return }
            if number <= last { faults.append("\(number) after \(last)") }
            if number > last + 1, !mayMiss { faults.append("\(number) after \(last) without a gap") }
            (last, mayMiss, events) = (number, false, events + 1)
        }
    }

    func run() async throws -> Bool {
        let server = KillableServer(command, file: file) { port in
            var configuration = WebSocketConfiguration()
            configuration.subprotocols = ["graphql-transport-ws"]
            await (try WebSocketConnection.connect(to: "ws://127.0.0.1:\(port)/graphql", configuration: configuration)).abort()
        }
        try await server.start()
        let link = try await FaultyLink.start(to: server.port)
        let client = GraphQLClient(
            "ws://127.0.0.1:\(link.port)/graphql",
            configure: { socket in
                socket.reconnect.backoff = Backoff(base: .milliseconds(5), cap: .milliseconds(100), minimum: .milliseconds(1))
                socket.reconnect.spacing = .milliseconds(1)
            })
        let subscriptions = (0..<5).map { _ in LockedValue(Followed()) }
        let following = subscriptions.map { followed in
            Task {
                for try await event in client.subscribe(Operation("subscription { added }")) { followed.withLockedValue { $0.note(event) } }
            }
        }
        try await client.ready(within: .seconds(20))

        let outcomes = LockedValue<[String: String]>([:])
        let isOver = LockedValue(false)
        async let mutating: Void = mutate(client, outcomes) { isOver.withLockedValue { $0 } }
        for cut in 1...cuts {
            try await Task.sleep(for: .milliseconds(.random(in: 10...80)))
            if cut.isMultiple(of: max(cuts / max(kills, 1), 1)) {
                try await server.kill()
                try await server.start()
            } else {
                link.cut(Bool.random() ? .fin : .rst)
            }
        }
        isOver.withLockedValue { $0 = true }
        await mutating
        // All subscriptions stand again: each gets an event. The server may carry out a mutation before it begins a subscription, so one
        // mutation may be too early.
        for number in 1...60 {
            _ = try await client.mutate(Operation("mutation { add(key: \"last-\(number)\") }")).complete()
            try await Task.sleep(for: .milliseconds(500))
            let total = try server.lines.count
            if subscriptions.allSatisfy({ $0.withLockedValue { $0.last } == total }) { break }
        }
        for task in following { task.cancel() }
        await client.close()
        // After SIGTERM, uvicorn waits for subscriptions that no longer exist.
        try await server.kill()
        try await link.stop()
        return judge(try server.lines, outcomes.withLockedValue { $0 }, subscriptions.map { $0.withLockedValue { $0 } }, link.accepted)
    }

    private func judge(_ done: [String], _ outcomes: [String: String], _ followed: [Followed], _ connections: Int) -> Bool {
        var allPassed = true
        func check(_ name: String, _ holds: Bool, _ why: String = "") {
            print(holds ? "ok cuts: \(name)" : "not ok cuts: \(name): \(why)")
            if !holds { allPassed = false }
        }
        let counts = Dictionary(grouping: done) { $0 }.mapValues(\.count)
        let twice = counts.filter { $0.value > 1 }.keys.sorted()
        check("no mutation was carried out twice", twice.isEmpty, twice.joined(separator: " "))
        let answered = outcomes.filter { $0.value == "answered" }.keys
        check("each answered mutation was carried out", answered.allSatisfy { counts[$0] == 1 })
        let unsent = outcomes.filter { $0.value == "not sent" }.keys
        check("a mutation that counts as not sent was not carried out", unsent.allSatisfy { counts[$0] == nil })
        let ends: Set = ["answered", "not sent", "unknown"]
        check("each mutation ended as answered, not sent or unknown", outcomes.values.allSatisfy { ends.contains($0) })
        check("many mutations were answered, and some are unknown", answered.count > 20 && outcomes.values.contains("unknown") || cuts < 50)
        for (number, one) in followed.enumerated() {
            let faults = one.faults.joined(separator: ", ")
            check("subscription \(number + 1) got each event once, in order, and no hole without a gap", faults.isEmpty, faults)
        }
        check("each subscription got the last event", followed.allSatisfy { $0.last == done.count })
        check("the subscriptions were sent again after every loss", connections > cuts / 2, "\(connections) connections")
        let mutations = "\(outcomes.count) mutations: \(answered.count) answered, \(unsent.count) not sent"
        print("figure \(connections) connections, \(mutations); \(followed[0].events) events, \(followed[0].gaps) gaps")
        return allPassed
    }

    private func mutate(_ client: GraphQLClient, _ outcomes: LockedValue<[String: String]>, until isOver: @escaping @Sendable () -> Bool)
        async
    {
        await withTaskGroup { group in
            for worker in 1...4 {
                group.addTask {
                    var number = 0
                    while !isOver() {
                        number += 1
                        let key = "\(worker)-\(number)"
                        let outcome: String
                        do throws(GraphQLFailure) {
                            let adding = Operation("mutation($k: String!) { add(key: $k) }", variables: ["k": .text(key)])
                            let response = try await client.mutate(adding)
                            outcome = response.errors.isEmpty ? "answered" : "refused"
                        } catch {
                            outcome = error.code == .outcomeUnknown || error.mayHaveArrived ? "unknown" : "not sent"
                        }
                        outcomes.withLockedValue { $0[key] = outcome }
                        try? await Task.sleep(for: .milliseconds(1))
                    }
                }
            }
        }
    }
}
