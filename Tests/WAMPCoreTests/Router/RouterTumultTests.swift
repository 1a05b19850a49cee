import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// Clients that say anything, also what they must not, and a watch over all that the router says.
@Suite struct RouterTumultTests {
    private struct Tumult {
        /// What a client has asked, and been told.
        struct Client {
            var isJoined = false
            var wasToldGoodbye = false
            var next: WAMPID = 1
            /// Requests without an answer.
            var open: [WAMPID: UInt64] = [:]
            var subscriptions: Set<WAMPID> = []
            var registrations: Set<WAMPID> = []
            var invocations: Set<WAMPID> = []
        }
        var router: RouterMachine
        var chance: SplitMix64
        var now = Moment.start
        var clients: [RouterConnection: Client] = [:]
        var opened: UInt64 = 0
        var complaints: [String] = []
        var seen: Set<String> = []
        var keeps: Bool

        init(seed: UInt64, policy: RouterPolicy, keeps: Bool) {
            (chance, router, self.keeps) = (SplitMix64(seed: seed), RouterMachine(policy: policy, seed: seed), keeps)
        }

        mutating func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &chance)] }
        mutating func odds(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &chance) == 0 }
        mutating func pick(_ ids: Set<WAMPID>) -> WAMPID { odds(10) ? 3 : pick(ids.sorted() + (ids.isEmpty ? [3] : [])) }

        mutating func uri() -> String { pick(["a", "b", "a.b", "a.b.c", "b.a", "a.", "", "..", "a..c", "wamp.session.on_leave", "#"]) }
        mutating func match() -> ValueMap { pick([[:], [:], ["match": "prefix"], ["match": "wildcard"], ["match": "none"]]) }

        // MARK: What happens

        mutating func message(of client: Client) -> WAMPMessage {
            let id = odds(400) ? pick([0, client.next + 1, .largestWAMPID]) : client.next
            switch Int.random(in: 0..<22, using: &chance) {
            case 0...3:
                var options = match()
                if odds(3) { options["get_retained"] = true }
                return .subscribe(request: id, options: options, topic: uri())
            case 4, 5: return .unsubscribe(request: id, subscription: pick(client.subscriptions))
            case 6...10:
                var options: ValueMap = ["acknowledge": .bool(odds(2)), "exclude_me": .bool(odds(2))]
                if keeps, odds(5) { options["retain"] = true }
                if odds(6) { options["exclude_authid"] = ["ann"] }
                if odds(300) { options["eligible"] = 7 }
                return .publish(request: id, options: options, topic: uri(), WAMPArguments([1]))
            case 11, 12:
                var options = match()
                if odds(2) { options["invoke"] = .text(pick(["roundrobin", "last", "single", "none"])) }
                return .register(request: id, options: options, procedure: uri())
            case 13: return .unregister(request: id, registration: pick(client.registrations))
            case 14, 15:
                let options: ValueMap = pick([[:], ["timeout": 50], ["receive_progress": true]])
                return .call(request: id, options: options, procedure: uri(), .none)
            case 16:
                let mode: Value = pick(["kill", "skip", "killnowait"])
                return .cancel(request: pick(Set(client.open.keys)), options: ["mode": mode])
            case 17...19: return .yield(request: pick(client.invocations), options: odds(3) ? ["progress": true] : [:], .none)
            case 20: return .error(.invocation, request: pick(client.invocations), details: [:], uri: "com.no", .none)
            default: return odds(10) ? .welcome(session: 1, details: [:]) : .goodbye(details: [:], reason: WAMPURI.Close.normal, .none)
            }
        }

        mutating func happen() {
            if odds(20) { now = now + .milliseconds(Int.random(in: 1...3000, using: &chance)) }
            let present = clients.keys.sorted { $0.number < $1.number }
            if present.count < 2 || odds(40) {
                opened += 1
                clients[RouterConnection(opened)] = Client()
                return give(.opened(RouterConnection(opened), transport: [:]))
            }
            let client = pick(present)
            switch Int.random(in: 0..<300, using: &chance) {
            case 0: lose(client)
            case 1: give(.overrun(client))
            case 2: give(.undecodable(client, WAMPFormatError(.noMessage)))
            case 3: give(.kill(session: router.sessions.keys.sorted().first ?? 1, reason: WAMPURI.Close.killed, message: nil))
            case 4, 5:
                let ids = clients.values.map { odds(2) ? $0.subscriptions : $0.registrations }.flatMap { $0 }.sorted()
                give(.revoke(realm: "r", id: ids.first ?? 1, reason: "com.no"))
            default:
                guard let state = clients[client] else { return }
                if !state.isJoined {
                    let hello: Value = ["roles": odds(2) ? RouterStage.roles : ["caller": [:], "callee": [:]]]
                    give(.received(client, state.wasToldGoodbye ? message(of: state) : .hello(realm: "r", details: hello.entries ?? [:])))
                    if !state.wasToldGoodbye { give(.examined(client, .accepted(RouterPrincipal(authID: pick(["ann", nil]))))) }
                    return
                }
                let message = message(of: state)
                note(message, of: client)
                give(.received(client, message))
            }
        }

        mutating func lose(_ client: RouterConnection) {
            clients[client] = nil
            give(.closed(client))
        }

        mutating func note(_ message: WAMPMessage, of client: RouterConnection) {
            switch message {
            case .publish(let id, let options, _, _): ask(id, options["acknowledge"]?.bool == true ? 16 : nil, client)
            case .subscribe(let id, _, _), .unsubscribe(let id, _), .register(let id, _, _), .unregister(let id, _), .call(let id, _, _, _):
                ask(id, message.type, client)
            case .yield(let id, let options, _): if options.entries.isEmpty { clients[client]?.invocations.remove(id) }
            case .error(_, let id, _, _, _): clients[client]?.invocations.remove(id)
            case .goodbye: clients[client]?.isJoined = false
            default: break
            }
            if case .unsubscribe(_, let id) = message { clients[client]?.subscriptions.remove(id) }
        }

        mutating func ask(_ id: WAMPID, _ kind: UInt64?, _ client: RouterConnection) {
            guard id == clients[client]?.next else { return }
            clients[client]?.next += 1
            if let kind { clients[client]?.open[id] = kind }
        }

        mutating func give(_ input: RouterInput) {
            var effects: [RouterEffect] = []
            router.handle(input, at: now, into: &effects)
            for effect in effects { carryOut(effect) }
            if let deadline = router.deadline, deadline <= now { complaints.append("a deadline has passed and nothing was done") }
            for (client, state) in clients where state.isJoined && state.open.values.contains(where: { $0 != 48 }) {
                complaints.append("\(client.number) has no answer: \(state.open)")
                clients[client]?.open = [:]
            }
        }

        // MARK: What the router says

        mutating func carryOut(_ effect: RouterEffect) {
            switch effect {
            case .send(let message, let client): take(message, client)
            case .sendToAll(let message, let receivers):
                if Set(receivers).count != receivers.count || receivers.count < 2 { complaints.append("told twice, or no crowd") }
                for client in receivers { take(message, client) }
            case .close(let client, let closing):
                if clients.removeValue(forKey: client) == nil { complaints.append("closed twice") }
                seen.insert("\(closing)")
            case .examine, .news: break
            }
        }

        mutating func take(_ message: WAMPMessage, _ client: RouterConnection) {
            seen.insert(message.name)
            guard let state = clients[client] else { return complaints.append("told a closed one: \(message)") }
            if state.wasToldGoodbye { complaints.append("told something after goodbye: \(message)") }
            switch message {
            case .welcome: clients[client]?.isJoined = true
            case .goodbye:
                clients[client]?.isJoined = false
                clients[client]?.wasToldGoodbye = true
            case .abort: clients[client]?.isJoined = false
            case .published(let id, _): answer(id, 16, client)
            case .subscribed(let id, let subscription):
                answer(id, 32, client)
                clients[client]?.subscriptions.insert(subscription)
            case .unsubscribed(0, let details): clients[client]?.subscriptions.remove(WAMPID(details["subscription"]?.int ?? 0))
            case .unsubscribed(let id, _): answer(id, 34, client)
            case .event(let subscription, _, _, _):
                if !state.subscriptions.contains(subscription), state.isJoined { complaints.append("an event of nothing: \(message)") }
            case .registered(let id, let registration):
                answer(id, 64, client)
                clients[client]?.registrations.insert(registration)
            case .unregistered(0, let details): clients[client]?.registrations.remove(WAMPID(details["registration"]?.int ?? 0))
            case .unregistered(let id, _): answer(id, 66, client)
            case .result(let id, let details, _): if details["progress"] == nil { answer(id, 48, client) }
            case .invocation(let id, _, _, _):
                if !(clients[client]?.invocations.insert(id).inserted ?? false) { complaints.append("invoked twice: \(id)") }
            case .interrupt(let id, _):
                if clients[client]?.invocations.contains(id) != true { complaints.append("interrupted after its answer: \(id)") }
            case .error(let kind, let id, _, _, _): answer(id, kind.rawValue, client)
            default: complaints.append("nothing for a client: \(message)")
            }
        }

        mutating func answer(_ id: WAMPID, _ kind: UInt64, _ client: RouterConnection) {
            if clients[client]?.open.removeValue(forKey: id) != kind { complaints.append("an answer to nothing: \(kind) \(id)") }
        }
    }

    @Test("whatever comes in whatever order, each request is answered once, and nothing stays", arguments: [true, false])
    func promises(keeps: Bool) {
        var seen: Set<String> = []
        for seed in 1...50 as ClosedRange<UInt64> {
            let policy = RouterPolicy(
                goodbyePatience: .seconds(1), maximumSubscriptions: 6, maximumRegistrations: 4, maximumCalls: 3, maximumRetained: 3,
                historyLength: keeps ? 2 : 0, maximumHistories: 2)
            var tumult = Tumult(seed: seed, policy: policy, keeps: keeps)
            for _ in 0..<600 { tumult.happen() }
            for client in tumult.clients.keys.sorted(by: { $0.number < $1.number }) { tumult.lose(client) }
            #expect(tumult.complaints.isEmpty, "seed \(seed)")
            if keeps {
                let realm = tumult.router.realms[0]
                #expect(tumult.router.visits.isEmpty && tumult.router.sessions.isEmpty && tumult.router.deadline == nil, "seed \(seed)")
                #expect(realm?.dealer.isEmpty != false && realm?.broker.held.isEmpty != false, "seed \(seed)")
                #expect((realm?.broker.subscriptions.count ?? 0) <= 2 && realm?.broker.subscriptions.count == realm?.broker.lingering.count)
            } else {
                #expect(tumult.router.isEmpty, "seed \(seed)")
            }
            seen.formUnion(tumult.seen)
        }
        let expected = [
            "WELCOME", "GOODBYE", "ABORT", "PUBLISHED", "SUBSCRIBED", "UNSUBSCRIBED", "EVENT", "REGISTERED", "UNREGISTERED", "INVOCATION",
            "RESULT", "INTERRUPT", "ERROR", "goodbye", "violation", "overrun",
        ]
        #expect(seen.isSuperset(of: expected), "\(Set(expected).subtracting(seen))")
    }
}
