import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

@Suite("Dealer: progressive calls")
struct DealerPartsTests {
    let caller = Participant.peer(1)
    let callee = Participant.peer(2)
    let other = Participant.peer(3)

    @Test("all parts of a call have one invocation id, and the last part ends the input")
    func parts() throws {
        var stage = DealerStage()
        let registration = try stage.offer("com.a", by: callee)
        let parts: [(ValueMap, ValueMap)] = [
            (["progress": true], ["progress": true]), (["progress": true], ["progress": true]), ([:], [:]),
        ]
        for (number, (options, details)) in parts.enumerated() {
            let arguments = WAMPArguments([.integer(Int64(number))])
            #expect(
                stage.call("com.a", options, arguments, again: number == 0 ? nil : 1, by: caller) == [
                    .send(.invocation(request: 1, registration: registration, details: details, arguments), to: callee.connection)
                ])
        }
        #expect(stage.yield(1, by: callee).types == [50])
        #expect(stage.dealer.waitingCalls == 0)
    }

    @Test("all parts go to the same callee of a shared procedure")
    func sameCallee() throws {
        var stage = DealerStage()
        for session in [callee, other] { _ = try stage.offer("com.a", ["invoke": "roundrobin"], by: session) }
        _ = stage.call("com.a", ["progress": true], by: caller)
        #expect(stage.call("com.a", ["progress": true], again: 1, by: caller).receivers == [callee.connection])
        #expect(stage.call("com.a", again: 1, by: caller).receivers == [callee.connection])
    }

    @Test("options of the first part apply to all, those of later parts are ignored")
    func frozenOptions() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.", ["match": "prefix"], by: callee)
        let wanted: ValueMap = ["procedure": "com.a", "caller": Value(caller.session), "caller_authid": "user1", "caller_authrole": "role"]
        let first = stage.call("com.a", ["progress": true, "disclose_me": true], by: caller).invocations
        let last = stage.call("com.a", ["disclose_me": "no", "receive_progress": true, "timeout": -5], again: 1, by: caller).invocations
        #expect(last == [wanted])
        #expect(first.map { details in ValueMap(details.filter { $0.key != "progress" }) } == [wanted])
        #expect(stage.dealer.deadline == nil)
    }

    @Test("progressive results may arrive while input is still sent")
    func bothWays() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", ["progress": true, "receive_progress": true], by: caller)
        #expect(stage.yield(1, ["progress": true], by: callee).types == [50])
        #expect(stage.call("com.a", again: 1, by: caller).types == [68])
        #expect(stage.yield(1, by: callee).types == [50])
    }

    @Test(
        "a callee without progressive calls or without interrupts is not called with parts",
        arguments: [PeerAbilities.parts, .interrupts, []])
    func unable(abilities: PeerAbilities) throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: .peer(2, abilities))
        #expect(stage.call("com.a", ["progress": true], by: caller).errors == [WAMPURI.Error.featureNotSupported])
        #expect(stage.call("com.a", by: caller).types == [68])
    }

    @Test("parts from a caller that did not announce them are a violation")
    func unannounced() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        let caller = Participant.peer(1, .interrupts)
        #expect(stage.verdict { $0.call(1, ["progress": true], "com.a", .none, isNew: true, by: caller, at: $1, into: &$2) } != nil)
    }

    @Test("parts after the end of their call are ignored up to the last one")
    func lateParts() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", ["progress": true], by: caller)
        _ = stage.yield(1, by: callee)
        #expect(late(&stage, 1, ["progress": true]) == nil)
        #expect(late(&stage, 1, [:]) == nil)
        #expect(late(&stage, 1, [:]) == "CALL #1 is repeated")
    }

    @Test("parts of a refused call are ignored, too")
    func refusedParts() {
        var stage = DealerStage()
        #expect(stage.call("com.a", ["progress": true], by: caller).errors == [WAMPURI.Error.noSuchProcedure])
        #expect(late(&stage, 1, ["progress": true]) == nil)
        #expect(late(&stage, 1, [:]) == nil)
    }

    @Test("the id of a complete call, or of another request, cannot be used for a part")
    func usedIDs() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", by: caller)
        #expect(late(&stage, 1, [:]) == "CALL #1 is repeated")
        _ = stage.yield(1, by: callee)
        #expect(late(&stage, 1, [:]) == "CALL #1 is repeated")
        #expect(stage.verdict { $0.call(1, [:], "com.a", .none, isNew: false, by: other, at: $1, into: &$2) } == "CALL #1 is repeated")
    }

    @Test("a part must name the procedure of its call")
    func otherProcedure() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.", ["match": "prefix"], by: callee)
        _ = stage.call("com.a", ["progress": true], by: caller)
        #expect(stage.verdict { $0.call(1, [:], "com.b", .none, isNew: false, by: caller, at: $1, into: &$2) } == "CALL #1 is repeated")
    }

    @Test("the number of remembered calls that ended early is limited; beyond that parts are always ignored")
    func forgotten() {
        var stage = DealerStage { $0.maximumCalls = 2 }
        for _ in 0..<3 { _ = stage.call("com.a", ["progress": true], by: caller) }
        for request: WAMPID in 1...3 { #expect(late(&stage, request, [:]) == nil) }
        #expect(stage.dealer.members[caller.session]?.abandoned.isEmpty == true)
        #expect(!stage.leave(caller).contains { _ in true } && stage.dealer.isEmpty)
    }

    @Test("an interrupted call forwards no more parts")
    func interrupted() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", ["progress": true], by: caller)
        _ = stage.cancel(1, .kill, by: caller)
        #expect(stage.call("com.a", ["progress": true], again: 1, by: caller).isEmpty)
        #expect(stage.call("com.a", again: 1, by: caller).isEmpty)
        #expect(stage.fail(1, "com.stopped", by: callee).errors == ["com.stopped"])
        #expect(late(&stage, 1, [:]) == "CALL #1 is repeated")
    }

    @Test("quirk: each part is an invocation of its own with its own answer")
    func invocationsOfParts() throws {
        var stage = DealerStage { ($0.quirks.invokesEachPart, $0.quirks.acceptsAnyRequestID) = (true, true) }
        for session in [callee, other] { _ = try stage.offer("com.a", ["invoke": "roundrobin"], by: session) }
        _ = stage.call("com.a", ["progress": true], by: caller)
        let second = stage.ask { _ = $0.call(1, [:], "com.a", .none, isNew: true, by: caller, at: $1, into: &$2) }
        #expect(second.receivers == [other.connection])
        #expect(stage.yield(1, by: callee).types == [50])
        #expect(stage.dealer.waitingCalls == 1)
        #expect(stage.cancel(1, .killNoWait, by: caller).receivers == [other.connection, caller.connection])
        #expect(stage.dealer.waitingCalls == 0)
    }

    @Test("quirk: the id of a complete call is ignored while the call is pending and free afterwards")
    func anyID() throws {
        var stage = DealerStage { $0.quirks.acceptsAnyRequestID = true }
        _ = try stage.offer("com.a", by: callee)
        for request: WAMPID in [0, 7] {
            #expect(stage.ask { _ = $0.call(request, [:], "com.a", .none, isNew: true, by: caller, at: $1, into: &$2) }.types == [68])
            #expect(stage.verdict { $0.call(request, [:], "com.a", .none, isNew: true, by: caller, at: $1, into: &$2) } == nil)
        }
        _ = stage.yield(1, by: callee)
        #expect(stage.ask { _ = $0.call(0, [:], "com.a", .none, isNew: true, by: caller, at: $1, into: &$2) }.types == [68])
    }

    @Test("quirk: the number of invocations of a call is limited")
    func boundOfInvocations() throws {
        var stage = DealerStage { ($0.quirks.invokesEachPart, $0.quirks.acceptsAnyRequestID, $0.maximumCalls) = (true, true, 2) }
        _ = try stage.offer("com.a", by: callee)
        let types = (0..<5).flatMap { _ in
            stage.ask { _ = $0.call(1, ["progress": true], "com.a", .none, isNew: true, by: caller, at: $1, into: &$2) }.types
        }
        #expect(types == [68, 68, 68])
    }

    private func late(_ stage: inout DealerStage, _ request: WAMPID, _ options: ValueMap) -> String? {
        stage.verdict { $0.call(request, options, "com.a", .none, isNew: false, by: caller, at: $1, into: &$2) }
    }
}
