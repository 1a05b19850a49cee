import CodecCore
import HoldfastTesting
import MachineCore
import Testing

@testable import WAMPCore

@Suite("Meta API: random calls")
struct MetaTumultTests {
    @Test("each random meta call is answered once and sends only to connected clients", arguments: 0..<10)
    func answers(seed: Int) throws {
        var chance = SeededGenerator(seed: UInt64(seed))
        var stage = MetaStage { ($0.historyLength, $0.maximumTestaments) = (3, 4) }
        var clients: [MetaStage.Client] = []
        var (lastClient, results, uris): (UInt64, Int, Set<String>) = (0, 0, [])
        for step in 0..<600 {
            if clients.count < 3 {
                lastClient += 1
                clients.append(stage.join(lastClient, as: Bool.random(using: &chance) ? "user" : "admin"))
            }
            let client = clients[Int.random(in: 0..<clients.count, using: &chance)]
            switch Int.random(in: 0..<10, using: &chance) {
            case 0: _ = stage.subscribe(Self.uri(&chance), Self.options(&chance), by: client)
            case 1: _ = stage.register(Self.uri(&chance), Self.options(&chance), by: client)
            case 2: _ = stage.publish(Self.uri(&chance), WAMPArguments([1]), by: client)
            default:
                let procedure = MetaProcedure.allCases[Int.random(in: 0..<MetaProcedure.allCases.count, using: &chance)]
                let known = ids(in: stage, of: clients)
                let list = (0..<Int.random(in: 0..<4, using: &chance)).map { _ in Self.value(&chance, known) }
                let names = ["reason", "scope", "limit", "reverse", "after_publication", "from_time", "topic", "publish_options"]
                let keywords = ValueMap(
                    names.filter { _ in Int.random(in: 0..<5, using: &chance) == 0 }.map {
                        ValueMap.Entry(key: .text($0), value: Self.value(&chance, known))
                    })
                let effects = stage.send(client) {
                    .call(request: $0, options: [:], procedure: procedure.rawValue, WAMPArguments(list, keywords: keywords))
                }
                let answers = effects.filter { effect in
                    switch effect {
                    case .send(.result, client.connection), .send(.error(.call, _, _, _, _), client.connection): true
                    default: false
                    }
                }
                try #require(answers.count == 1, "seed \(seed), step \(step): \(procedure) \(list) gives \(effects)")
                results += effects.errors.isEmpty ? 1 : 0
                uris.formUnion(effects.errors)
                let there = Set(clients.map(\.connection))
                try #require(
                    Set(effects.receivers).isSubset(of: there), "seed \(seed), step \(step): \(procedure) \(list) gives \(effects)")
                clients.removeAll { effects.goodbyes.contains($0.connection) }
                try #require(clients.contains(client), "a session cannot kill itself")
            }
        }
        for client in clients { _ = stage.put(.closed(client.connection)) }
        #expect(stage.router.sessions.isEmpty)
        #expect(results > 50 && uris.count > 3, "\(results) \(uris)")
    }

    private func ids(in stage: MetaStage, of clients: [MetaStage.Client]) -> [Value] {
        let realm = stage.router.realms.first ?? nil
        let known = [realm?.broker.subscriptions.keys.sorted().first, realm?.dealer.registrations.keys.sorted().first].compactMap(\.self)
        return clients.map(stage.id) + known.map { Value($0) } + known.map { Value($0) }
    }

    private static func uri(_ chance: inout SeededGenerator) -> String {
        let uris = ["com.a", "com.b", "com", "com.", "", "wamp.session.on_leave", "wamp.subscription.on_create", "a..b", "#"]
        return uris[Int.random(in: 0..<uris.count, using: &chance)]
    }

    private static func options(_ chance: inout SeededGenerator) -> ValueMap {
        let all: [ValueMap] = [[:], ["match": "prefix"], ["match": "wildcard"], ["match": "like"], ["invoke": "first"]]
        return all[Int.random(in: 0..<all.count, using: &chance)]
    }

    private static func value(_ chance: inout SeededGenerator, _ ids: [Value]) -> Value {
        let others: [Value] = [
            nil, true, 0, -1, 1.5, .unsigned(.max), "detached", "user", "name1", ["admin"], [1], [:], ["match": "prefix"], ["exclude": 1],
            "2023-11-14T22:13:20Z", .text(uri(&chance)),
        ]
        if Int.random(in: 0..<3, using: &chance) > 0, let id = ids.randomElement(using: &chance) { return id }
        return others[Int.random(in: 0..<others.count, using: &chance)]
    }
}

extension [RouterEffect] {
    /// The receivers of GOODBYE.
    fileprivate var goodbyes: [RouterConnection] {
        compactMap { if case .send(.goodbye, let connection) = $0 { connection } else { nil } }
    }
}
