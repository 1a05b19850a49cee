import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable import WAMPCore

@Suite struct ClientCallTests {
    // MARK: Numbers

    @Test func `each session numbers all its requests 1, 2, 3`() {
        var bench = ClientBench.joined()
        bench.handle(
            .call(1), .listen(2), .offer(3), .publish(4, topic: "com.chat", .none, PublishOptions()),
            .publish(5, topic: "com.chat", .none, PublishOptions(isAcknowledged: true)))
        #expect(
            bench.look() == [
                .call(1), .subscribe(2), .register(3), .send(.publish(request: 4, options: [:], topic: "com.chat", .none)),
                .event(.published(4, publication: nil)),
                .send(.publish(request: 5, options: ["acknowledge": true], topic: "com.chat", .none)),
            ])
        bench.rejoin()
        _ = bench.look()
        bench.handle(.call(6))
        #expect(bench.look() == [.call(3)], "after the SUBSCRIBE and the REGISTER of the new session")
    }

    @Test func `after 2^53 the request ids begin at 1 again and skip those of open requests`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1))
        bench.machine.numbers.last = .largestWAMPID - 1
        bench.handle(.call(2), .call(3))
        #expect(bench.look() == [.call(1), .call(.largestWAMPID), .call(2)])
        bench.receive(.aResult(77))
        #expect(bench.look() == [], "after the largest id any id may be that of an earlier request")
    }

    // MARK: Results

    @Test func `a call ends with its result`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, procedure: "com.add", WAMPArguments([23, 7]), CallOptions()))
        #expect(bench.look() == [.call(1, [:], "com.add", WAMPArguments([23, 7]))])
        bench.receive(.aResult(1, WAMPArguments([30]), ["callee": 5]))
        #expect(bench.look() == [.result(1, WAMPArguments([30]), details: ["callee": 5])])
        bench.receive(.aResult(1))
        #expect(bench.look() == [], "the client ignores a second result")
    }

    @Test func `a refused call ends with the error`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1))
        _ = bench.look()
        bench.receive(.error(.call, request: 1, details: [:], uri: "com.acme.wrong", WAMPArguments(["why"])))
        #expect(bench.look() == [.failed(1, .refused(uri: "com.acme.wrong", arguments: WAMPArguments(["why"])))])
        bench.receive(.aRefusal(.call, 1, "com.acme.wrong"))
        #expect(bench.look() == [])
    }

    @Test func `the client sends only the call options that the dealer announces`() {
        let options = CallOptions(timeout: .milliseconds(1500), wantsProgress: true, discloseMe: true, other: ["rkey": 5])
        var bench = ClientBench.joined()
        bench.handle(.call(1, options))
        #expect(bench.look() == [.call(1, ["rkey": 5, "timeout": 1500, "receive_progress": true, "disclose_me": true])])
        var other = ClientBench.joined(ClientBench.nothing)
        other.handle(.call(1, options))
        #expect(other.look() == [.call(1, ["rkey": 5, "disclose_me": true])])
    }

    @Test func `only a call that wants progressive results gets them`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(wantsProgress: true)), .call(2))
        _ = bench.look()
        bench.receive(.aResult(1, WAMPArguments([10]), ["progress": true]), .aResult(2, WAMPArguments([10]), ["progress": true]))
        #expect(bench.look() == [.result(1, WAMPArguments([10]), details: ["progress": true], isFinal: false)])
        bench.receive(.aResult(1), .aResult(2))
        #expect(bench.look() == [.result(1), .result(2)])
    }

    // MARK: Time

    @Test func `at its timeout a call ends at once and the client sends CANCEL`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(timeout: .seconds(5), cancelMode: .kill)))
        _ = bench.look()
        bench.pass(.seconds(5))
        #expect(bench.look() == [.cancel(1, "kill"), .failed(1, .timedOut(wasSent: true))])
        bench.receive(.aRefusal(.call, 1, "wamp.error.canceled"))
        #expect(bench.look() == [])
    }

    @Test func `a dealer that times out first changes nothing for the app`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(timeout: .seconds(5))), .call(2))
        _ = bench.look()
        bench.receive(.aRefusal(.call, 1, "wamp.error.timeout"), .aRefusal(.call, 2, "wamp.error.timeout"))
        #expect(
            bench.look() == [
                .failed(1, .timedOut(wasSent: true)), .failed(2, .refused(uri: "wamp.error.timeout", arguments: .none)),
            ])
    }

    @Test func `a call whose timeout passes before the session is joined is never sent`() {
        var bench = ClientBench()
        bench.handle(.call(1, CallOptions(timeout: .seconds(2))))
        bench.pass(.seconds(2))
        #expect(bench.look() == [.failed(1, .timedOut(wasSent: false))])
        bench.join()
        #expect(bench.sent().count == 1, "only HELLO was sent")
    }

    @Test func `the timeout that is sent excludes the time spent waiting for the session`() {
        var bench = ClientBench()
        bench.handle(.call(1, CallOptions(timeout: .seconds(5))))
        bench.pass(.seconds(3))
        bench.join()
        #expect(bench.look().last == .call(1, ["timeout": 2000]))
        bench.pass(.seconds(2))
        #expect(bench.look() == [.cancel(1), .failed(1, .timedOut(wasSent: true))])
    }

    @Test func `a call waits for the session up to its patience, and not at all without one`() {
        var bench = ClientBench()
        bench.handle(.call(1), .call(2, CallOptions(joinPatience: nil)), .publish(3, topic: "a.b", .none, PublishOptions(patience: nil)))
        #expect(bench.look() == [.failed(2, .notJoined), .failed(3, .notJoined)])
        bench.pass(.seconds(10))
        #expect(bench.look() == [.failed(1, .timedOut(wasSent: false))])
    }

    @Test func `calls and publications that wait for the session are sent in order`() {
        var bench = ClientBench()
        bench.handle(.call(1), .publish(2, topic: "com.chat", .none, PublishOptions()), .call(3), .call(4), .cancel(3))
        #expect(bench.look() == [.failed(3, .cancelled(wasSent: false))])
        bench.join()
        #expect(
            bench.look().suffix(4) == [
                .call(1), .send(.publish(request: 2, options: [:], topic: "com.chat", .none)), .event(.published(2, publication: nil)),
                .call(3),
            ])
    }

    // MARK: Cancelling

    @Test(arguments: CallOptions.CancelMode.allCases)
    func `a cancelled call ends at once and its CANCEL always has a mode`(mode: CallOptions.CancelMode) {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(cancelMode: mode)))
        _ = bench.look()
        bench.handle(.cancel(1))
        #expect(bench.look() == [.cancel(1, mode.rawValue), .failed(1, .cancelled(wasSent: true))])
        bench.handle(.cancel(1))
        bench.receive(.aResult(1))
        #expect(bench.look() == [])
    }

    @Test func `the client sends CANCEL only to a dealer that announces it in either spelling`() {
        for (feature, isSent) in [("call_canceling", true), ("call_cancelling", true), ("other", false)] {
            var bench = ClientBench.joined(["roles": ["dealer": ["features": [.text(feature): true]]]])
            bench.handle(.call(1))
            _ = bench.look()
            bench.handle(.cancel(1))
            #expect(bench.sent().isEmpty != isSent, "\(feature)")
        }
    }

    // MARK: Loss

    @Test func `after a loss sent requests end, and those with patience wait for the next session`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(timeout: .seconds(5))), .publish(2, topic: "a.b", .none, PublishOptions(isAcknowledged: true)))
        _ = bench.look()
        bench.handle(.lost)
        #expect(
            bench.look() == [.event(.parted), .failed(1, .connectionLost(wasSent: true)), .failed(2, .connectionLost(wasSent: true))])
        bench.handle(.call(3))
        bench.join()
        #expect(bench.look().last == .call(1))
        bench.pass(.seconds(20))
        #expect(bench.look() == [], "the timers of the old session are gone")
    }

    @Test func `a lost request tells whether it may have left`() {
        var bench = ClientBench.joined()
        let acknowledged = PublishOptions(isAcknowledged: true)
        bench.handle(
            .call(1), .publish(2, topic: "a.b", .none, acknowledged), .call(3), .publish(4, topic: "a.b", .none, acknowledged),
            .callInParts(5, procedure: "com.sum", .none, CallOptions()), .callInParts(6, procedure: "com.sum", .none, CallOptions()),
            .part(5, .none, isLast: true))
        // Only the last part of the fifth call has not left.
        let orders = bench.sent()
        bench.handle(.lost(unsent: [2, 3, 5, 6].map { orders[$0] }))
        #expect(
            bench.news().dropFirst()
                == [
                    .failed(1, .connectionLost(wasSent: true)), .failed(2, .connectionLost(wasSent: true)),
                    .failed(3, .connectionLost(wasSent: false)), .failed(4, .connectionLost(wasSent: false)),
                    // Some part may have left; the client does not know which.
                    .failed(5, .connectionLost(wasSent: true)), .failed(6, .connectionLost(wasSent: false)),
                ])
    }

    @Test func `a new connection also ends the old one if its loss was never reported`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1))
        bench.handle(.open)
        let effects = bench.look()
        #expect(effects.dropFirst().prefix(2) == [.event(.parted), .failed(1, .connectionLost(wasSent: true))])
        guard case .send(.hello)? = effects.last else { return #expect(Bool(false), "\(effects)") }
    }

    @Test func `an answer to a request of an earlier session is a violation unless the new session has that id`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1))
        bench.rejoin()
        _ = bench.look()
        bench.receive(.aResult(1))
        #expect(bench.look() == ClientEffect.violation("an answer to a request that was never made"))
    }

    // MARK: Limits

    @Test func `the limit of pending requests counts sent and unsent ones`() {
        var policy = ClientPolicy(realm: "realm1")
        policy.maximumWaiting = 2
        var bench = ClientBench(policy: policy)
        bench.handle(.call(1), .listen(2), .call(3))
        #expect(bench.look() == [.failed(3, .tooManyWaiting)])
        bench.join()
        _ = bench.look()
        bench.handle(.call(4))
        #expect(bench.look().count == 1 && bench.machine.waiting == 3)
        bench.receive(.aResult(2), .subscribed(request: 1, subscription: 5))
        _ = bench.look()
        bench.handle(.call(5))
        #expect(bench.sent().count == 1)
    }

    @Test(arguments: ["", "com..add", ".com", "com.", "com.add 2", "com.#add", "com.\tadd"])
    func `an invalid URI is not sent`(uri: String) {
        var bench = ClientBench.joined()
        bench.handle(
            .call(1, procedure: uri, .none, CallOptions()), .publish(2, topic: uri, .none, PublishOptions()), .listen(3, uri),
            .offer(4, uri))
        #expect(bench.look() == [1, 2, 3, 4].map { .failed(ClientHandle($0), .invalidURI(uri)) })
    }

    // MARK: Progressive input

    @Test func `all parts of the input have the id of their call, and only the last part ends it`() {
        var bench = ClientBench.joined()
        bench.handle(.callInParts(1, procedure: "com.add", WAMPArguments([1]), CallOptions(discloseMe: true)))
        bench.handle(.part(1, WAMPArguments([2]), isLast: false), .part(1, WAMPArguments([3]), isLast: true))
        bench.handle(.part(1, WAMPArguments([4]), isLast: true), .call(2), .part(2, WAMPArguments([4]), isLast: true))
        #expect(
            bench.look() == [
                .call(1, ["progress": true, "disclose_me": true], "com.add", WAMPArguments([1])),
                .call(1, ["progress": true], "com.add", WAMPArguments([2])), .call(1, [:], "com.add", WAMPArguments([3])), .call(2),
            ])
        bench.receive(.aResult(1))
        #expect(bench.look() == [.result(1)])
        bench.handle(.part(1, WAMPArguments([5]), isLast: false))
        #expect(bench.look() == [])
    }

    @Test func `parts wait for the session with their call, within the limits`() {
        var policy = ClientPolicy(realm: "realm1")
        policy.maximumWaiting = 2
        var bench = ClientBench(policy: policy)
        bench.handle(.callInParts(1, procedure: "com.add", WAMPArguments([1]), CallOptions()), .part(1, WAMPArguments([2]), isLast: true))
        bench.handle(.part(1, WAMPArguments([3]), isLast: false), .callInParts(2, procedure: "com.add", .none, CallOptions()))
        #expect(bench.look() == [])
        for number in Int64(0)..<3 { bench.handle(.part(2, WAMPArguments([.integer(number)]), isLast: false)) }
        #expect(bench.look() == [.failed(2, .tooManyWaiting)])
        bench.join()
        #expect(
            bench.look().suffix(2) == [
                .call(1, ["progress": true], "com.add", WAMPArguments([1])), .call(1, [:], "com.add", WAMPArguments([2])),
            ])
    }

    @Test func `progressive input fails at a dealer that does not announce it`() {
        var bench = ClientBench.joined(ClientBench.nothing)
        bench.handle(.callInParts(1, procedure: "com.add", .none, CallOptions()), .part(1, .none, isLast: true))
        #expect(bench.look() == [.failed(1, .unsupported("progressive_call_invocations"))])
    }

    @Test func `an unlimited patience does not overflow the clock`() {
        let ever = Duration.seconds(Int64.max)
        var bench = ClientBench(policy: ClientPolicy(realm: "realm1", joinPatience: ever, answerPatience: ever))
        bench.handle(
            .call(1, CallOptions(timeout: ever, joinPatience: ever)), .publish(2, topic: "a.b", .none, PublishOptions(patience: ever)),
            .subscribe(3, TopicKey("a.b"), SubscribeOptions(), patience: ever),
            .register(4, procedure: "com.add", RegisterOptions(takeoverPatience: ever), patience: ever))
        #expect(bench.machine.deadline == Moment(.seconds(1 << 32)))
        bench.join()
        bench.receive(.subscribed(request: 1, subscription: 5), .registered(request: 2, registration: 6))
        #expect(bench.machine.deadline == Moment(.seconds(1 << 32)))
        bench.rejoin()
        bench.receive(.aRefusal(.register, 2, "wamp.error.procedure_already_exists"), .subscribed(request: 1, subscription: 5))
        bench.pass(.milliseconds(100))
        #expect(bench.sent().last == .register(request: 3, options: [:], procedure: "com.add"))
    }

    @Test func `a negative patience is zero`() {
        var bench = ClientBench()
        bench.handle(.call(1, CallOptions(joinPatience: .seconds(Int64.min))))
        #expect(bench.machine.deadline == .start)
    }

    // MARK: Publishing

    @Test func `an acknowledged publication ends with its id, an error, a timeout, a cancellation or a lost connection`() {
        var bench = ClientBench.joined()
        for handle in 1...5 {
            let options = PublishOptions(isAcknowledged: true, patience: handle == 3 ? .seconds(1) : nil)
            bench.handle(.publish(ClientHandle(UInt64(handle)), topic: "a.b", .none, options))
        }
        _ = bench.look()
        bench.receive(.published(request: 1, publication: 77), .aRefusal(.publish, 2, "wamp.error.not_authorized"))
        bench.pass(.seconds(1))
        bench.handle(.cancel(4))
        bench.handle(.lost)
        #expect(
            bench.look() == [
                .event(.published(1, publication: 77)), .failed(2, .refused(uri: "wamp.error.not_authorized", arguments: .none)),
                .failed(3, .timedOut(wasSent: true)), .failed(4, .cancelled(wasSent: true)), .event(.parted),
                .failed(5, .connectionLost(wasSent: true)),
            ])
    }

    @Test func `the time spent waiting for the session counts against a publication's patience`() {
        var bench = ClientBench()
        bench.handle(.publish(1, topic: "a.b", .none, PublishOptions(isAcknowledged: true, patience: .seconds(5))))
        bench.pass(.seconds(3))
        bench.join()
        _ = bench.look()
        bench.pass(.seconds(2))
        #expect(bench.look() == [.failed(1, .timedOut(wasSent: true))])
    }

    @Test func `publish options become options of PUBLISH`() {
        var bench = ClientBench.joined()
        let options = PublishOptions(
            excludesMe: false, excluded: .init(sessions: [5], authIDs: ["ann"]), eligible: .init(authRoles: ["admin"]), discloseMe: false,
            isRetained: true, other: ["x_key": 1])
        bench.handle(.publish(1, topic: "a.b", .none, options))
        let wire: ValueMap = [
            "x_key": 1, "exclude_me": false, "exclude": [5], "exclude_authid": ["ann"], "eligible_authrole": ["admin"],
            "disclose_me": false, "retain": true,
        ]
        #expect(bench.sent() == [.publish(request: 1, options: wire, topic: "a.b", .none)])
    }
}
