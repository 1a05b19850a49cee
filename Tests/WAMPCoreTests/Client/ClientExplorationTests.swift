import CodecCore
import HoldfastTesting
import MachineCore
import ProtocolCore
import Testing
import WAMPAudit

@testable import WAMPCore

@Suite struct ClientExplorationTests {
    private func joined() -> AuditedClient {
        var client = AuditedClient(policy: ClientPolicy(realm: "realm1", joinPatience: .seconds(3), answerPatience: .seconds(2)))
        var effects: [ClientEffect] = []
        for input in [AuditedClient.Input.open, .welcome] { client.handle(input, at: .start, into: &effects) }
        return client
    }

    @Test func `in every reachable state topics keep their invariants`() throws {
        let inputs: [AuditedClient.Input] = [
            .open, .lose, .welcome, .accept(0), .accept(1), .refuse(0, "wamp.error.unavailable"), .refuse(0, "wamp.error.not_authorized"),
            .listen(1, "com.chat", wantsRetained: false, history: 0), .listen(2, "com.chat", wantsRetained: true, history: 2),
            .unsubscribe(1), .unsubscribe(2), .revokeTopic(0), .event(0, retained: false), .event(0, retained: true), .leave,
        ]
        let states = try explore(joined(), inputs: inputs, depth: 6, tick: .seconds(2)) { step in
            try #require(step.after.fault == nil, "\(step.after.fault ?? ""): \(step)")
        }
        #expect(states > 1000)
    }

    @Test func `in every reachable state procedures and invocations keep their invariants`() throws {
        let inputs: [AuditedClient.Input] = [
            .open, .lose, .welcome, .accept(0), .refuse(0, WAMPURI.Error.procedureAlreadyExists), .offer(1, "com.add"),
            .offer(2, "com.add"), .unregister(1), .unregister(2), .revokeProcedure(0), .invoke(0, isOpen: true), .interrupt(0),
            .yield(0, isFinal: true), .yield(0, isFinal: false), .fail(0), .goodbye,
        ]
        let states = try explore(joined(), inputs: inputs, depth: 6, tick: .seconds(2)) { step in
            try #require(step.after.fault == nil, "\(step.after.fault ?? ""): \(step)")
        }
        #expect(states > 1000)
    }

    @Test func `in every reachable state calls and publications keep their invariants`() throws {
        let inputs: [AuditedClient.Input] = [
            .open, .lose, .welcome, .call(1, timeout: .seconds(2)), .callInParts(2), .part(2), .cancel(1), .cancel(2),
            .publish(3, isAcknowledged: true), .publish(4, isAcknowledged: false), .accept(0), .accept(1), .refuse(0, "com.acme.no"),
            .progress,
            .goodbye, .abort("wamp.error.no_such_realm"), .leave, .nonsense(.aResult(1)),
            .nonsense(.subscribed(request: 1, subscription: 1)),
        ]
        let client = AuditedClient(policy: ClientPolicy(realm: "realm1", joinPatience: .seconds(3), answerPatience: .seconds(2)))
        let states = try explore(client, inputs: inputs, depth: 5, tick: .seconds(2)) { step in
            try #require(step.after.fault == nil, "\(step.after.fault ?? ""): \(step)")
        }
        #expect(states > 1000)
    }

    @Test func `in every reachable state joining keeps its invariants`() {
        let own = (0...2).map { ClientHandle(1 << 63 + $0) }
        let inputs: [ClientInput] =
            [
                .open, .lost, .command(.leave(reason: "wamp.close.close_realm")), .received(.challenge(method: "scram", extra: [:])),
                .received(.challenge(method: "ticket", extra: [:])), .received(.challenge(method: "other", extra: [:])),
                .received(.welcome(session: 1, details: [:])), .received(.abort(details: [:], reason: "com.acme.busy", .none)),
                .received(.goodbye(details: [:], reason: "wamp.close.normal", .none)), .undecodable("no message"),
            ]
            + own.flatMap { handle -> [ClientInput] in
                [
                    .command(.proven(handle, signature: "s", extra: [:])), .command(.unproven(handle, "no")),
                    .command(.checked(handle, isGenuine: true)), .command(.checked(handle, isGenuine: false)),
                ]
            }
        let policy = ClientPolicy(
            realm: "realm1", authMethods: ["scram", "ticket"], joinPatience: .seconds(2), answerPatience: .seconds(2))
        let states = explore(ClientMachine(policy: policy, seed: 1), inputs: inputs, depth: 6, tick: .seconds(1)) { step in
            let phases: [ClientMachine.Phase] = [.apart, .dropping, .over]
            var isSilent = phases.contains(step.before.phase)
            if case .opened? = step.input, step.before.phase != .over { isSilent = false }
            for effect in step.effects {
                switch effect {
                case .send, .event(.challenged), .event(.welcomed): #expect(!isSilent, "\(step)")
                case .ready: #expect(step.after.phase == .joined && step.before.phase != .joined, "\(step)")
                case .event(.ended): isSilent = true
                case .end: #expect(isSilent, "\(step)")
                case .connect: Issue.record("\(step)")
                case .event(.joined): #expect(step.after.phase == .joined && step.before.phase != .joined, "\(step)")
                case .event(let news): #expect(news == .parted && step.before.phase == .joined, "\(step)")
                }
            }
            #expect(step.before.phase != .joined || step.after.phase == .joined || step.effects.contains(.event(.parted)), "\(step)")
            if phases.contains(step.after.phase) { #expect(step.after.deadline == nil, "\(step)") }
            if case .received(.challenge("other", _))? = step.input {
                #expect(!step.effects.contains { if case .event(.challenged) = $0 { true } else { false } })
            }
        }
        #expect(states > 80)
    }
}
