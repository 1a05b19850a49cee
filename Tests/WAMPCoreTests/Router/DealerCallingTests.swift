import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

@Suite("Dealer: calls")
struct DealerCallingTests {
    let caller = Participant.peer(1)
    let callee = Participant.peer(2)
    let other = Participant.peer(3)

    @Test("invocation ids count from 1 in each session")
    func numbers() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        _ = try stage.offer("com.b", by: other)
        #expect(["com.a", "com.b", "com.a"].flatMap { invoked(stage.call($0, by: caller)) } == [1, 1, 2])
    }

    @Test("quirk: invocation ids count across the realm")
    func numbersByRealm() throws {
        var stage = DealerStage { $0.quirks.numbersInvocationsByRealm = true }
        _ = try stage.offer("com.a", by: callee)
        _ = try stage.offer("com.b", by: other)
        #expect(["com.a", "com.b", "com.a"].flatMap { invoked(stage.call($0, by: caller)) } == [1, 2, 3])
        #expect(stage.yield(2, by: other) == [.send(.result(request: 2, details: [:], .none), to: caller.connection)])
    }

    @Test("an error of the callee reaches the caller with its URI and arguments")
    func failure() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", by: caller)
        let arguments = WAMPArguments(["why"], keywords: ["code": 5])
        let effects = stage.fail(1, "com.error.busy", arguments, by: callee)
        #expect(effects == [.send(.error(.call, request: 1, details: [:], uri: "com.error.busy", arguments), to: caller.connection)])
        #expect(stage.dealer.waitingCalls == 0)
    }

    @Test("a second answer to an invocation is ignored, an answer without an invocation is a violation")
    func strayAnswers() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", by: caller)
        _ = stage.yield(1, by: callee)
        #expect(stage.verdict { $0.yield(1, [:], .none, by: callee, at: $1, into: &$2) } == nil)
        #expect(stage.verdict { $0.fail(1, uri: "com.error", .none, by: callee, into: &$2) } == nil)
        #expect(
            stage.verdict { $0.yield(2, [:], .none, by: callee, at: $1, into: &$2) } == "YIELD for invocation #2, which was never made")
        #expect(
            stage.verdict { $0.yield(0, [:], .none, by: callee, at: $1, into: &$2) } == "YIELD for invocation #0, which was never made")
        #expect(
            stage.verdict { $0.fail(1, uri: "com.error", .none, by: other, into: &$2) } == "ERROR for invocation #1, which was never made"
        )
    }

    @Test("a callee cannot answer an invocation of another callee")
    func answerOfAnotherCallee() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        _ = try stage.offer("com.b", by: other)
        _ = stage.call("com.a", by: caller)
        _ = stage.call("com.b", by: caller)
        #expect(stage.yield(1, by: other) == [.send(.result(request: 2, details: [:], .none), to: caller.connection)])
        #expect(stage.dealer.waitingCalls == 1)
    }

    @Test("progressive results reach a caller that asked for them, in order and before the final one")
    func progress() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        #expect(stage.call("com.a", ["receive_progress": true], by: caller).invocations == [["receive_progress": true]])
        for number: Value in [1, 2] {
            #expect(
                stage.yield(1, ["progress": true], WAMPArguments([number]), by: callee) == [
                    .send(.result(request: 1, details: ["progress": true], WAMPArguments([number])), to: caller.connection)
                ])
        }
        #expect(stage.yield(1, by: callee) == [.send(.result(request: 1, details: [:], .none), to: caller.connection)])
        #expect(stage.yield(1, ["progress": true], by: callee).isEmpty)
    }

    @Test("progressive results are dropped if the caller did not ask for them, and the final one arrives")
    func unwantedProgress() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        #expect(stage.call("com.a", by: caller).invocations == [[:]])
        #expect(stage.yield(1, ["progress": true], by: callee).isEmpty)
        #expect(stage.yield(1, by: callee).types == [50])
    }

    @Test("a callee that cannot be interrupted is not asked for progressive results")
    func progressWithoutInterrupts() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: .peer(2, []))
        #expect(stage.call("com.a", ["receive_progress": true], by: caller).invocations == [[:]])
    }

    @Test("the caller is named if it or the callee asks for that and the router allows it")
    func disclosure() throws {
        let named: ValueMap = ["caller": Value(caller.session), "caller_authid": "user1", "caller_authrole": "role"]
        let cases: [(router: Bool?, callee: Bool, caller: Bool?, expected: ValueMap?)] = [
            (nil, false, nil, [:]), (nil, false, true, named), (nil, false, false, [:]), (nil, true, nil, named), (nil, true, false, [:]),
            (true, false, nil, named), (true, false, false, named), (false, false, nil, [:]), (false, false, true, nil),
        ]
        for (router, wantsCaller, wish, expected) in cases {
            var stage = DealerStage { $0.discloses = router }
            _ = try stage.offer("com.a", ["disclose_caller": .bool(wantsCaller)], by: callee)
            let effects = stage.call("com.a", wish.map { ["disclose_me": .bool($0)] } ?? [:], by: caller)
            #expect(
                effects.invocations == (expected.map { [$0] } ?? []),
                "\(String(describing: router)) \(wantsCaller) \(String(describing: wish))")
            if expected == nil { #expect(effects.errors == [WAMPURI.Error.discloseMeDisallowed]) }
        }
    }

    @Test("where the router forbids disclosure a registration cannot ask for it")
    func disclosureOfCallee() {
        var stage = DealerStage { $0.discloses = false }
        #expect(stage.register("com.a", ["disclose_caller": true], by: callee).errors == [WAMPURI.Error.optionNotAllowed])
    }

    @Test("a call of an invalid URI is an error, and by quirk an unknown procedure", arguments: ["", "com..a", "com.#", "a b"])
    func invalidURI(uri: String) {
        var stage = DealerStage()
        #expect(stage.call(uri, by: caller).errors == [WAMPURI.Error.invalidURI])
        var lax = DealerStage { $0.quirks.callsInvalidURIsUnknown = true }
        #expect(lax.call(uri, by: caller).errors == [WAMPURI.Error.noSuchProcedure])
    }

    @Test("reserved names never reach a callee, whatever pattern it registers")
    func reserved() throws {
        var stage = DealerStage()
        _ = try stage.offer("", ["match": "prefix"], by: callee)
        _ = try stage.offer("..", ["match": "wildcard"], by: callee)
        #expect(stage.call("wamp.session.count", by: caller).errors == [WAMPURI.Error.noSuchProcedure])
        #expect(stage.call("wampum", by: caller).receivers == [callee.connection])
    }

    @Test("the number of pending calls of a session is limited")
    func bound() throws {
        var stage = DealerStage { $0.maximumCalls = 2 }
        _ = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", by: caller)
        _ = stage.call("com.a", by: caller)
        #expect(stage.call("com.a", by: caller).errors == [WAMPURI.Error.unavailable])
        #expect(stage.call("com.a", by: other).types == [68])
        _ = stage.yield(1, by: callee)
        #expect(stage.call("com.a", by: caller).types == [68])
    }

    @Test("when a callee leaves, its pending calls end with an error")
    func calleeLeaves() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", by: caller)
        _ = stage.call("com.a", by: other)
        _ = stage.call("com.a", by: callee)
        let effects = stage.leave(callee)
        #expect(effects.errors == [WAMPURI.Error.canceled, WAMPURI.Error.canceled])
        #expect(effects.receivers == [caller.connection, other.connection])
        #expect(stage.dealer.waitingCalls == 0)
        #expect(stage.call("com.a", by: caller).errors == [WAMPURI.Error.noSuchProcedure])
    }

    @Test("when a caller leaves, its callees are interrupted if they support it, and their answers are dropped")
    func callerLeaves() throws {
        var stage = DealerStage()
        let plain = Participant.peer(3, [])
        _ = try stage.offer("com.a", by: callee)
        _ = try stage.offer("com.b", by: plain)
        _ = stage.call("com.a", by: caller)
        _ = stage.call("com.b", by: caller)
        let options: ValueMap = ["mode": "killnowait", "reason": .text(WAMPURI.Error.canceled)]
        #expect(stage.leave(caller) == [.send(.interrupt(request: 1, options: options), to: callee.connection)])
        #expect(stage.yield(1, by: callee).isEmpty)
        #expect(stage.yield(1, by: plain).isEmpty)
        _ = stage.leave(callee)
        _ = stage.leave(plain)
        #expect(stage.dealer.isEmpty)
    }

    @Test("an unregistered procedure still answers its pending calls")
    func unregisteredWhileCalled() throws {
        var stage = DealerStage()
        let registration = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", by: caller)
        _ = stage.ask { $0.unregister(2, registration: registration, by: callee, into: &$2) }
        #expect(stage.yield(1, by: callee).types == [50])
    }

    private func invoked(_ effects: [RouterEffect]) -> [WAMPID] {
        effects.compactMap { if case .send(.invocation(let request, _, _, _), _) = $0 { request } else { nil } }
    }
}
