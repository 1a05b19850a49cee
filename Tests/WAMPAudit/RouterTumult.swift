import CodecCore
import MachineCore
package import WAMPCore

/// Clients with random valid and invalid messages, and checks of all that the router sends.
package struct RouterTumult {
    /// The requests of a client and the answers it has received.
    struct Client {
        /// The session id, while the client has joined.
        var session: WAMPID?
        var wasToldGoodbye = false
        var next: WAMPID = 1
        /// Requests without an answer.
        var open: [WAMPID: UInt64] = [:]
        var subscriptions: Set<WAMPID> = []
        var registrations: Set<WAMPID> = []
        var invocations: Set<WAMPID> = []

        var isJoined: Bool { session != nil }
    }
    package private(set) var router: RouterMachine
    package private(set) var choices: Choices
    /// The violated invariants.
    package internal(set) var complaints: [String] = []
    /// The names of the messages, and the kinds of closed connections.
    package internal(set) var seen: Set<String> = []
    var clients: [RouterConnection: Client] = [:]
    private var now = Moment.start
    private var opened: UInt64 = 0
    private let keeps: Bool

    /// - Parameter keeps: Whether the router stores retained events and histories, which outlive sessions.
    package init(_ choices: Choices, keeps: Bool) {
        (self.choices, self.keeps) = (choices, keeps)
        let policy = RouterPolicy(
            allowsKilling: true, goodbyePatience: .seconds(1), maximumSubscriptions: 6, maximumRegistrations: 4, maximumCalls: 3,
            maximumRetained: 3, historyLength: keeps ? 2 : 0, maximumHistories: 2)
        router = RouterMachine(policy: policy, seed: UInt64(self.choices.pick(256)))
    }

    private static let roles: Value = [
        "publisher": [:], "subscriber": ["features": ["subscription_revocation": true]], "caller": [:],
        "callee": ["features": ["call_canceling": true]],
    ]

    private mutating func pick(_ ids: Set<WAMPID>) -> WAMPID { choices.odds(10) || ids.isEmpty ? 3 : choices.pick(ids.sorted()) }

    private mutating func uri() -> String {
        choices.pick(["a", "b", "a.b", "a.b.c", "b.a", "a.", "", "..", "a..c", "wamp.session.on_leave", "#"])
    }
    private mutating func match() -> ValueMap { choices.pick([[:], [:], ["match": "prefix"], ["match": "wildcard"], ["match": "none"]]) }

    // MARK: Inputs

    private mutating func message(of client: Client) -> WAMPMessage {
        let id = choices.odds(400) ? choices.pick([0, client.next + 1, .largestWAMPID]) : client.next
        switch choices.pick(22) {
        case 0...3:
            var options = match()
            if choices.odds(3) { options["get_retained"] = true }
            return .subscribe(request: id, options: options, topic: uri())
        case 4, 5: return .unsubscribe(request: id, subscription: pick(client.subscriptions))
        case 6...10:
            var options: ValueMap = ["acknowledge": .bool(choices.odds(2)), "exclude_me": .bool(choices.odds(2))]
            if keeps, choices.odds(5) { options["retain"] = true }
            if choices.odds(6) { options["exclude_authid"] = ["ann"] }
            if choices.odds(300) { options["eligible"] = 7 }
            return .publish(request: id, options: options, topic: uri(), WAMPArguments([1]))
        case 11, 12:
            var options = match()
            if choices.odds(2) { options["invoke"] = .text(choices.pick(["roundrobin", "last", "single", "none"])) }
            return .register(request: id, options: options, procedure: uri())
        case 13: return .unregister(request: id, registration: pick(client.registrations))
        case 14, 15:
            let options: ValueMap = choices.pick([[:], ["timeout": 50], ["receive_progress": true]])
            return .call(request: id, options: options, procedure: uri(), .none)
        case 16:
            let mode: Value = choices.pick(["kill", "skip", "killnowait"])
            return .cancel(request: pick(Set(client.open.keys)), options: ["mode": mode])
        case 17...19: return .yield(request: pick(client.invocations), options: choices.odds(3) ? ["progress": true] : [:], .none)
        case 20: return .error(.invocation, request: pick(client.invocations), details: [:], uri: "com.no", .none)
        default: return choices.odds(10) ? .welcome(session: 1, details: [:]) : .goodbye(details: [:], reason: WAMPURI.Close.normal, .none)
        }
    }

    package mutating func happen() {
        if choices.odds(20) { pass(.milliseconds(choices.pick(3000) + 1)) }
        let present = clients.keys.sorted { $0.number < $1.number }
        if present.count < 2 || choices.odds(40) {
            opened += 1
            clients[RouterConnection(opened)] = Client()
            return give(.opened(RouterConnection(opened), transport: [:]))
        }
        let client = choices.pick(present)
        switch choices.pick(300) {
        case 0: lose(client)
        case 1: give(.overrun(client))
        case 2: give(.undecodable(client, WAMPFormatError(.noMessage)))
        case 3: give(.kill(session: clients.values.compactMap(\.session).min() ?? 1, reason: WAMPURI.Close.killed, message: nil))
        case 4, 5:
            let ids = present.compactMap { clients[$0] }.flatMap { choices.odds(2) ? $0.subscriptions : $0.registrations }.sorted()
            give(.revoke(realm: "r", id: ids.first ?? 1, reason: "com.no"))
        case 6, 7:
            guard let request = clients[client]?.invocations.sorted().last else { return }
            give(.undelivered(client, .invocation(request: request, registration: 1, details: [:], .none), reason: "com.full"))
        default:
            guard let state = clients[client] else { return }
            if !state.isJoined {
                let hello: Value = ["roles": choices.odds(2) ? Self.roles : ["caller": [:], "callee": [:]]]
                give(.received(client, state.wasToldGoodbye ? message(of: state) : .hello(realm: "r", details: hello.entries ?? [:])))
                if !state.wasToldGoodbye { give(.examined(client, .accepted(RouterPrincipal(authID: choices.pick(["ann", nil]))))) }
                return
            }
            let message = message(of: state)
            note(message, of: client)
            give(.received(client, message))
        }
    }

    /// All connections are lost; the router may keep no state of them.
    package mutating func rest() {
        for client in clients.keys.sorted(by: { $0.number < $1.number }) { lose(client) }
        if router.sessionCount != 0 || router.deadline != nil { complaints.append("state outlives all sessions") }
    }

    private mutating func lose(_ client: RouterConnection) {
        clients[client] = nil
        give(.closed(client))
    }

    private mutating func note(_ message: WAMPMessage, of client: RouterConnection) {
        switch message {
        case .publish(let id, let options, _, _): ask(id, options["acknowledge"]?.bool == true ? 16 : nil, client)
        case .subscribe(let id, _, _), .unsubscribe(let id, _), .register(let id, _, _), .unregister(let id, _), .call(let id, _, _, _):
            ask(id, message.type, client)
        case .yield(let id, let options, _): if options.entries.isEmpty { clients[client]?.invocations.remove(id) }
        case .error(_, let id, _, _, _): clients[client]?.invocations.remove(id)
        case .goodbye: clients[client]?.session = nil
        default: break
        }
        if case .unsubscribe(_, let id) = message { clients[client]?.subscriptions.remove(id) }
    }

    private mutating func ask(_ id: WAMPID, _ kind: UInt64?, _ client: RouterConnection) {
        guard id == clients[client]?.next else { return }
        clients[client]?.next += 1
        if let kind { clients[client]?.open[id] = kind }
    }

    /// Alarms run before the next input, so that an answer does not cross an interrupt.
    private mutating func pass(_ time: Duration) {
        now = now + time
        var effects: [RouterEffect] = []
        router.wake(at: now, into: &effects)
        judge(effects)
    }

    private mutating func give(_ input: RouterInput) {
        var effects: [RouterEffect] = []
        router.handle(input, at: now, into: &effects)
        judge(effects)
    }

    private mutating func judge(_ effects: [RouterEffect]) {
        for effect in effects { carryOut(effect) }
        if let deadline = router.deadline, deadline <= now { complaints.append("a deadline has passed and nothing was done") }
        for (client, state) in clients where state.isJoined && state.open.values.contains(where: { $0 != 48 }) {
            complaints.append("\(client.number) has no answer: \(state.open)")
            clients[client]?.open = [:]
        }
    }
}
