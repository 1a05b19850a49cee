import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

@Suite("Dealer: cancelling, and timeouts")
struct DealerCancellingTests {
    let caller = Participant.peer(1)
    let callee = Participant.peer(2)
    let plain = Participant.peer(3, [])

    @Test("skip: the caller gets the error at once, the callee hears nothing, and its result is dropped")
    func skip() throws {
        var stage = try called()
        #expect(stage.cancel(1, .skip, by: caller) == [canceled])
        #expect(stage.yield(1, by: callee).isEmpty)
        #expect(stage.dealer.waitingCalls == 0)
    }

    @Test("killnowait: the caller gets the error and the callee the interrupt at once, and the result is dropped")
    func killNoWait() throws {
        var stage = try called()
        #expect(stage.cancel(1, .killNoWait, by: caller) == [interrupt("killnowait"), canceled])
        #expect(stage.fail(1, WAMPURI.Error.canceled, by: callee).isEmpty)
    }

    @Test("a CANCEL without a mode is killnowait")
    func noMode() throws {
        var stage = try called()
        #expect(stage.cancel(1, nil, by: caller) == [interrupt("killnowait"), canceled])
    }

    @Test("kill: the callee is interrupted, and the caller gets its error or result")
    func kill() throws {
        var failed = try called()
        #expect(failed.cancel(1, .kill, by: caller) == [interrupt("kill")])
        #expect(failed.fail(1, "com.stopped", by: callee).errors == ["com.stopped"])
        var finished = try called()
        _ = finished.cancel(1, .kill, by: caller)
        #expect(finished.yield(1, by: callee).types == [50])
        #expect(finished.dealer.deadline == nil)
    }

    @Test("kill: a callee that does not answer runs into a timeout")
    func killWithoutAnswer() throws {
        var stage = try called()
        _ = stage.cancel(1, .kill, by: caller)
        #expect(stage.pass(.seconds(4)).isEmpty)
        #expect(
            stage.pass(.seconds(1)) == [
                .send(
                    .error(
                        .call, request: 1, details: [:], uri: WAMPURI.Error.canceled,
                        WAMPArguments(["the callee did not answer the interrupt"])),
                    to: caller.connection)
            ])
        #expect(stage.yield(1, by: callee).isEmpty)
    }

    @Test("after kill the caller can still cancel without waiting, and the callee is interrupted once")
    func killTwice() throws {
        var stage = try called()
        _ = stage.cancel(1, .kill, by: caller)
        #expect(stage.cancel(1, .kill, by: caller).isEmpty)
        #expect(stage.cancel(1, .killNoWait, by: caller) == [canceled])
        #expect(stage.cancel(1, .killNoWait, by: caller).isEmpty)
    }

    @Test("a callee that cannot be interrupted is skipped in every mode", arguments: CallOptions.CancelMode.allCases)
    func calleeWithoutInterrupts(mode: CallOptions.CancelMode) throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: plain)
        _ = stage.call("com.a", by: caller)
        #expect(stage.cancel(1, mode, by: caller) == [canceled])
    }

    @Test("quirk: a skipped call is never answered")
    func unansweredSkip() throws {
        var stage = DealerStage { $0.quirks.leavesSkippedCallsUnanswered = true }
        _ = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", by: caller)
        #expect(stage.cancel(1, .skip, by: caller).isEmpty)
        #expect(stage.yield(1, by: callee).isEmpty)
        #expect(stage.dealer.waitingCalls == 0)
    }

    @Test("CANCEL of a finished, unknown or foreign call has no effect")
    func strayCancel() throws {
        var stage = try called()
        #expect(stage.cancel(1, .killNoWait, by: callee).isEmpty)
        #expect(stage.cancel(2, .killNoWait, by: caller).isEmpty)
        _ = stage.yield(1, by: callee)
        #expect(stage.cancel(1, .killNoWait, by: caller).isEmpty)
    }

    @Test("a call beyond its timeout ends with an error, and the callee is interrupted")
    func timeout() throws {
        var stage = try called(["timeout": 1500])
        #expect(stage.pass(.milliseconds(1499)).isEmpty)
        let effects = stage.pass(.milliseconds(1))
        #expect(effects.types == [69, 8])
        #expect(effects.errors == [WAMPURI.Error.timeout])
        #expect(stage.yield(1, by: callee).isEmpty)
        #expect(stage.dealer.deadline == nil)
    }

    @Test("a callee that cannot be interrupted gets no INTERRUPT at the timeout")
    func timeoutWithoutInterrupts() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: plain)
        #expect(stage.call("com.a", ["timeout": 1000], by: caller).invocations == [[:]])
        #expect(stage.pass(.seconds(1)).types == [8])
    }

    @Test("an answer in time clears the timeout")
    func inTime() throws {
        var stage = try called(["timeout": 1500])
        _ = stage.yield(1, by: callee)
        #expect(stage.dealer.deadline == nil)
        #expect(stage.pass(.seconds(2)).isEmpty)
    }

    @Test("with progressive results the timeout restarts at each of them")
    func timeoutBetweenParts() throws {
        var stage = try called(["timeout": 1000, "receive_progress": true])
        for _ in 0..<3 {
            #expect(stage.pass(.milliseconds(900)).isEmpty)
            #expect(stage.yield(1, ["progress": true], by: callee).types == [50])
        }
        #expect(stage.pass(.seconds(1)).errors == [WAMPURI.Error.timeout])
    }

    @Test("options of the wrong type are a violation")
    func wrongTypes() throws {
        var stage = try called()
        for options: ValueMap in [["timeout": "long"], ["timeout": 1.5], ["progress": 1], ["disclose_me": "no"], ["receive_progress": []]] {
            #expect(stage.verdict { $0.call(2, options, "com.a", .none, isNew: true, by: caller, at: $1, into: &$2) } != nil)
        }
        #expect(stage.verdict { $0.cancel(1, ["mode": 1], by: caller, at: $1, into: &$2) } != nil)
        #expect(stage.verdict { $0.yield(1, ["progress": 1], .none, by: callee, at: $1, into: &$2) } != nil)
    }

    @Test("a timeout of 0 means none, and a negative one is refused")
    func oddTimeouts() throws {
        let stage = try called(["timeout": 0])
        #expect(stage.dealer.deadline == nil)
        var refusing = try called()
        #expect(refusing.call("com.a", ["timeout": -1], by: caller).errors == [WAMPURI.Error.invalidArgument])
        #expect(try called(["timeout": .integer(.max)]).dealer.deadline != nil)
    }

    @Test("a callee that announced so enforces the timeout itself; by quirk every callee does")
    func forwardedTimeout() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.a", ["forward_timeout": true], by: callee)
        #expect(stage.call("com.a", ["timeout": 1000], by: caller).invocations == [["timeout": 1000]])
        #expect(stage.dealer.deadline == nil)
        var quirky = DealerStage { $0.quirks.onlyForwardsTimeouts = true }
        _ = try quirky.offer("com.a", by: callee)
        #expect(quirky.call("com.a", ["timeout": 1000], by: caller).invocations == [["timeout": 1000]])
        #expect(quirky.dealer.deadline == nil)
    }

    @Test("after kill the timeout for the callee's answer replaces that of the call")
    func killBeforeTimeout() throws {
        var stage = try called(["timeout": 1000])
        _ = stage.cancel(1, .kill, by: caller)
        #expect(stage.pass(.seconds(1)).isEmpty)
        #expect(stage.pass(.seconds(4)).errors == [WAMPURI.Error.canceled])
    }

    private func called(_ options: ValueMap = [:]) throws -> DealerStage {
        var stage = DealerStage()
        _ = try stage.offer("com.a", by: callee)
        _ = stage.call("com.a", options, by: caller)
        return stage
    }

    private var canceled: RouterEffect {
        let arguments = WAMPArguments(["cancelled by the caller"])
        return .send(.error(.call, request: 1, details: [:], uri: WAMPURI.Error.canceled, arguments), to: caller.connection)
    }

    private func interrupt(_ mode: Value) -> RouterEffect {
        .send(.interrupt(request: 1, options: ["mode": mode, "reason": .text(WAMPURI.Error.canceled)]), to: callee.connection)
    }
}

/// Calls that the router gives up because a message found no room in an outbound queue.
@Suite struct DealerGivingUpTests {
    private let caller = Participant.peer(1)
    private let callee = Participant.peer(2)

    private func undelivered(
        _ stage: inout DealerStage, _ message: WAMPMessage, to session: Participant
    ) -> [RouterEffect] {
        stage.ask { dealer, _, effects in
            dealer.giveUp(message, to: session.session, reason: WAMPURI.Error.unavailable, into: &effects)
        }
    }

    @Test func `an undelivered call fails, and its callee is free for the next one`() throws {
        var stage = DealerStage()
        let id = try stage.offer("a", ["concurrency": 1], by: callee)
        _ = stage.call("a", by: caller)
        let lost = WAMPMessage.invocation(request: 1, registration: id, details: [:], .none)
        let effects = undelivered(&stage, lost, to: callee)
        #expect(effects.errors == [WAMPURI.Error.unavailable] && effects.receivers == [caller.connection])
        #expect(undelivered(&stage, lost, to: callee).isEmpty && stage.dealer.waitingCalls == 0)
        #expect(stage.call("a", by: caller).invocations.count == 1)
        // A late answer to the undelivered invocation is no violation.
        #expect(stage.yield(1, by: callee).isEmpty)
    }

    @Test func `a callee with a part of the input is interrupted when a later part is lost`() throws {
        var stage = DealerStage()
        let id = try stage.offer("a", by: callee)
        _ = stage.call("a", ["progress": true], by: caller)
        _ = stage.call("a", [:], again: 1, by: caller)
        let effects = undelivered(&stage, .invocation(request: 1, registration: id, details: [:], .none), to: callee)
        #expect(effects.types == [69, 8] && effects.receivers == [callee.connection, caller.connection])
    }

    @Test func `a caller that misses a progressive result gets no more of them, and the callee is interrupted`() throws {
        var stage = DealerStage()
        _ = try stage.offer("a", by: callee)
        _ = stage.call("a", ["receive_progress": true], by: caller)
        #expect(stage.yield(1, ["progress": true], by: callee).types == [50])
        let effects = undelivered(&stage, .result(request: 1, details: ["progress": true], .none), to: caller)
        #expect(effects.types == [69, 8] && effects.receivers == [callee.connection, caller.connection])
        #expect(effects.errors == [WAMPURI.Error.unavailable])
        #expect(stage.yield(1, ["progress": true], by: callee).isEmpty && stage.dealer.waitingCalls == 0)
    }
}
