import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable import WAMPCore

@Suite struct ClientCallTests {
    // MARK: Numbers

    @Test func `requests of all kinds are numbered 1, 2, 3, in each session anew`() {
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

    @Test func `after 2^53 the numbers begin at 1 again, and leave out what is still open`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1))
        bench.machine.numbers.last = .largestWAMPID - 1
        bench.handle(.call(2), .call(3))
        #expect(bench.look() == [.call(1), .call(.largestWAMPID), .call(2)])
        bench.receive(.aResult(77))
        #expect(bench.look() == [], "any id may have been used by now")
    }

    // MARK: A call's life

    @Test func `a call ends with its result`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, procedure: "com.add", WAMPArguments([23, 7]), CallOptions()))
        #expect(bench.look() == [.call(1, [:], "com.add", WAMPArguments([23, 7]))])
        bench.receive(.aResult(1, WAMPArguments([30]), ["callee": 5]))
        #expect(bench.look() == [.result(1, WAMPArguments([30]), details: ["callee": 5])])
        bench.receive(.aResult(1))
        #expect(bench.look() == [], "a second result is ignored")
    }

    @Test func `a call that is refused ends with the error`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1))
        _ = bench.look()
        bench.receive(.error(.call, request: 1, details: [:], uri: "com.acme.wrong", WAMPArguments(["why"])))
        #expect(bench.look() == [.failed(1, .refused(uri: "com.acme.wrong", arguments: WAMPArguments(["why"])))])
        bench.receive(.aRefusal(.call, 1, "com.acme.wrong"))
        #expect(bench.look() == [])
    }

    @Test func `options are sent as they are wished, and those that the dealer does not announce are not`() {
        let options = CallOptions(timeout: .milliseconds(1500), wantsProgress: true, discloseMe: true, other: ["rkey": 5])
        var bench = ClientBench.joined()
        bench.handle(.call(1, options))
        #expect(bench.look() == [.call(1, ["rkey": 5, "timeout": 1500, "receive_progress": true, "disclose_me": true])])
        var other = ClientBench.joined(ClientBench.nothing)
        other.handle(.call(1, options))
        #expect(other.look() == [.call(1, ["rkey": 5, "disclose_me": true])])
    }

    @Test func `a part of a result goes to who wants it, and to nobody else`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(wantsProgress: true)), .call(2))
        _ = bench.look()
        bench.receive(.aResult(1, WAMPArguments([10]), ["progress": true]), .aResult(2, WAMPArguments([10]), ["progress": true]))
        #expect(bench.look() == [.result(1, WAMPArguments([10]), details: ["progress": true], isFinal: false)])
        bench.receive(.aResult(1), .aResult(2))
        #expect(bench.look() == [.result(1), .result(2)])
    }

    // MARK: Time

    @Test func `a timeout is kept here: the call ends at once, and the callee is told`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(timeout: .seconds(5), cancelMode: .kill)))
        _ = bench.look()
        bench.pass(.seconds(5))
        #expect(bench.look() == [.cancel(1, "kill"), .failed(1, .timedOut(wasSent: true))])
        bench.receive(.aRefusal(.call, 1, "wamp.error.canceled"))
        #expect(bench.look() == [])
    }

    @Test func `a dealer that keeps the timeout and is earlier than we are makes no difference to the app`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(timeout: .seconds(5))), .call(2))
        _ = bench.look()
        bench.receive(.aRefusal(.call, 1, "wamp.error.timeout"), .aRefusal(.call, 2, "wamp.error.timeout"))
        #expect(
            bench.look() == [
                .failed(1, .timedOut(wasSent: true)), .failed(2, .refused(uri: "wamp.error.timeout", arguments: .none)),
            ])
    }

    @Test func `a call whose timeout passes before there is a session was not sent`() {
        var bench = ClientBench()
        bench.handle(.call(1, CallOptions(timeout: .seconds(2))))
        bench.pass(.seconds(2))
        #expect(bench.look() == [.failed(1, .timedOut(wasSent: false))])
        bench.join()
        #expect(bench.sent().count == 1, "only the hello")
    }

    @Test func `the time that a call has waited for the session is taken off its timeout`() {
        var bench = ClientBench()
        bench.handle(.call(1, CallOptions(timeout: .seconds(5))))
        bench.pass(.seconds(3))
        bench.join()
        #expect(bench.look().last == .call(1, ["timeout": 2000]))
        bench.pass(.seconds(2))
        #expect(bench.look() == [.cancel(1), .failed(1, .timedOut(wasSent: true))])
    }

    @Test func `a call waits for the session as long as it has patience, and without patience not at all`() {
        var bench = ClientBench()
        bench.handle(.call(1), .call(2, CallOptions(joinPatience: nil)), .publish(3, topic: "a.b", .none, PublishOptions(patience: nil)))
        #expect(bench.look() == [.failed(2, .notJoined), .failed(3, .notJoined)])
        bench.pass(.seconds(10))
        #expect(bench.look() == [.failed(1, .timedOut(wasSent: false))])
    }

    @Test func `what waits for the session is sent in its order`() {
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
    func `who cancels is told at once, and the mode is always sent`(mode: CallOptions.CancelMode) {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(cancelMode: mode)))
        _ = bench.look()
        bench.handle(.cancel(1))
        #expect(bench.look() == [.cancel(1, mode.rawValue), .failed(1, .cancelled(wasSent: true))])
        bench.handle(.cancel(1))
        bench.receive(.aResult(1))
        #expect(bench.look() == [])
    }

    @Test func `a dealer that does not announce it is sent no CANCEL, and either spelling announces it`() {
        for (feature, isSent) in [("call_canceling", true), ("call_cancelling", true), ("other", false)] {
            var bench = ClientBench.joined(["roles": ["dealer": ["features": [.text(feature): true]]]])
            bench.handle(.call(1))
            _ = bench.look()
            bench.handle(.cancel(1))
            #expect(bench.sent().isEmpty != isSent, "\(feature)")
        }
    }

    // MARK: Loss

    @Test func `on loss everything that was sent ends, and what has patience waits for the next session`() {
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
        #expect(bench.look() == [], "no timer of an old session is left")
    }

    @Test func `what never left is told apart from what may have arrived`() {
        var bench = ClientBench.joined()
        let acknowledged = PublishOptions(isAcknowledged: true)
        bench.handle(
            .call(1), .publish(2, topic: "a.b", .none, acknowledged), .call(3), .publish(4, topic: "a.b", .none, acknowledged),
            .callInParts(5, procedure: "com.sum", .none, CallOptions()), .callInParts(6, procedure: "com.sum", .none, CallOptions()),
            .part(5, .none, isLast: true))
        // Of the fifth only the last part has not left.
        let orders = bench.sent()
        bench.handle(.lost(unsent: [2, 3, 5, 6].map { orders[$0] }))
        #expect(
            bench.news().dropFirst()
                == [
                    .failed(1, .connectionLost(wasSent: true)), .failed(2, .connectionLost(wasSent: true)),
                    .failed(3, .connectionLost(wasSent: false)), .failed(4, .connectionLost(wasSent: false)),
                    // Which of its parts did not leave is not known.
                    .failed(5, .connectionLost(wasSent: true)), .failed(6, .connectionLost(wasSent: false)),
                ])
    }

    @Test func `a new connection without word of the old one's end is its end as well`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1))
        bench.handle(.open)
        let effects = bench.look()
        #expect(effects.dropFirst().prefix(2) == [.event(.parted), .failed(1, .connectionLost(wasSent: true))])
        guard case .send(.hello)? = effects.last else { return #expect(Bool(false), "\(effects)") }
    }

    @Test func `answers to requests of an earlier session are those of the present one, or a violation`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1))
        bench.rejoin()
        _ = bench.look()
        bench.receive(.aResult(1))
        #expect(bench.look() == ClientEffect.violation("an answer to a request that was never made"))
    }

    // MARK: Bounds

    @Test func `no more requests wait than are allowed, whether they were sent or not`() {
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
    func `a URI that breaks the rules is not sent`(uri: String) {
        var bench = ClientBench.joined()
        bench.handle(
            .call(1, procedure: uri, .none, CallOptions()), .publish(2, topic: uri, .none, PublishOptions()), .listen(3, uri),
            .offer(4, uri))
        #expect(bench.look() == [1, 2, 3, 4].map { .failed(ClientHandle($0), .invalidURI(uri)) })
    }

    // MARK: Input in parts

    @Test func `input in parts goes under one number, and the last part says so`() {
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

    @Test func `parts wait for the session with their call, within the bounds`() {
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

    @Test func `input in parts is not sent to a dealer that does not announce it: it would have to abort the session`() {
        var bench = ClientBench.joined(ClientBench.nothing)
        bench.handle(.callInParts(1, procedure: "com.add", .none, CallOptions()), .part(1, .none, isLast: true))
        #expect(bench.look() == [.failed(1, .unsupported("progressive_call_invocations"))])
    }

    @Test func `no patience is longer than a moment can be away`() {
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

    @Test func `a patience that is less than none is none`() {
        var bench = ClientBench()
        bench.handle(.call(1, CallOptions(joinPatience: .seconds(Int64.min))))
        #expect(bench.machine.deadline == .start)
    }

    // MARK: Publishing

    @Test func `an acknowledged publication ends with its id, its error, its time, its cancelling, or the connection`() {
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

    @Test func `the time that a publication has waited for the session is taken off its patience`() {
        var bench = ClientBench()
        bench.handle(.publish(1, topic: "a.b", .none, PublishOptions(isAcknowledged: true, patience: .seconds(5))))
        bench.pass(.seconds(3))
        bench.join()
        _ = bench.look()
        bench.pass(.seconds(2))
        #expect(bench.look() == [.failed(1, .timedOut(wasSent: true))])
    }

    @Test func `a publisher's wishes become its options`() {
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
