import CodecCore
import HoldfastTesting
import MachineCore
import Testing

@testable import WAMPCore

/// Every input in every reachable state of a small router.
@Suite struct RouterExplorationTests {
    /// A router that equals another if clients cannot tell them apart, except by random ids.
    private struct Explored: Machine, Hashable {
        private(set) var router: RouterMachine
        private var summary: [String] = []
        var deadline: Moment? { router.deadline }

        mutating func handle(_ input: RouterInput, at now: Moment, into effects: inout [RouterEffect]) {
            router.handle(input, at: now, into: &effects)
            summary = summarized()
        }
        mutating func wake(at now: Moment, into effects: inout [RouterEffect]) {
            router.wake(at: now, into: &effects)
            summary = summarized()
        }

        init(_ router: RouterMachine) { self.router = router }

        private func summarized() -> [String] {
            var lines = router.peers.map { connection, visit in
                var line = "\(connection.number) \(visit.phase) \(visit.session?.lastRequest ?? 0)"
                guard let session = visit.session, let broker = router.realms[session.realm]?.broker else { return line }
                let held = broker.held[session.participant.session] ?? []
                line += " \(held.compactMap { broker.subscriptions[$0] }.map { "\($0.uri) \($0.match)" }.sorted())"
                return line + " \(session.participant.authRole)"
            }
            lines.append("\(router.isStopping) \(router.deadline?.offset ?? .zero) \(router.places.keys.sorted())")
            return lines.sorted()
        }
        static func == (one: Self, other: Self) -> Bool { one.summary == other.summary }
        func hash(into hasher: inout Hasher) { hasher.combine(summary) }
    }

    private static let clients = [RouterConnection(1), RouterConnection(2)]

    private static func inputs(_ client: RouterConnection) -> [RouterInput] {
        [
            .opened(client, transport: [:]), .closed(client),
            .received(client, .hello(realm: "r", details: ["roles": RouterStage.roles])), .examined(client, .accepted(RouterPrincipal())),
            .received(client, .subscribe(request: 1, options: [:], topic: "a")),
            .received(client, .publish(request: 2, options: ["acknowledge": true], topic: "a", .none)),
            .received(client, .goodbye(details: [:], reason: WAMPURI.Close.normal, .none)),
        ]
    }
    private static let rare: [RouterInput] = [
        .examined(clients[0], .challenged(method: "ticket", extra: [:])), .received(clients[0], .authenticate(signature: "", extra: [:])),
        .examined(clients[0], .refused(reason: "no", message: "")), .overrun(clients[0]), .stop,
        .received(clients[0], .abort(details: [:], reason: "no", .none)),
    ]

    @Test("in every state each connection gets only what its state allows", arguments: [RouterPolicy.Quirks(), .crossbar])
    func edges(quirks: RouterPolicy.Quirks) throws {
        let start = Explored(RouterMachine(policy: RouterPolicy(goodbyePatience: .seconds(3), quirks: quirks), seed: 1))
        let states = try explore(
            start, inputs: Self.clients.flatMap(Self.inputs) + Self.rare, depth: 6, tick: .seconds(4)
        ) { step in
            let before = step.before.router
            var after = step.after.router
            try #require(after.deadline.map { $0 > step.now } ?? true, "\(step)")
            var closed: Set<RouterConnection> = []
            for effect in step.effects {
                guard case .send(let message, let client) = effect else {
                    if case .close(let client, _) = effect { try #require(closed.insert(client).inserted, "\(step)") }
                    continue
                }
                try #require(!closed.contains(client), "\(step)")
                let phase = before.peers[client]?.phase
                switch message {
                case .welcome, .challenge:
                    guard case .examining = phase else { throw RouterStage.Surprise(message: message) }
                case .goodbye: try #require(phase == .joined, "\(step)")
                case .abort: try #require(phase != .leaving, "\(step)")
                default: try #require(phase == .joined, "\(step)")
                }
            }
            // A closed client is forgotten; a known client has a deadline or a session.
            try #require(closed.allSatisfy { after.peers[$0] == nil }, "\(step)")
            for (client, visit) in after.peers {
                try #require((visit.session != nil) == (visit.phase == .joined), "\(step)")
                let waits = after.alarms.isSet(.join(client)) || after.alarms.isSet(.goodbye(client))
                try #require(waits == (visit.phase != .joined), "\(step)")
            }
            try #require(after.sessions.count == after.peers.values.count { $0.session != nil }, "\(step)")
            // When all clients are gone, no state is left.
            var effects: [RouterEffect] = []
            for client in Self.clients { after.handle(.closed(client), at: step.now, into: &effects) }
            try #require(after.isEmpty, "\(step)")
        }
        #expect(states > 100)
    }
}
