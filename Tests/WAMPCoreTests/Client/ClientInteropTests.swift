import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable import WAMPCore

/// Behaviour in which routers in use differ from the specification or from one another.
@Suite struct ClientInteropTests {
    @Test func `request ids: the client counts 1, 2, 3 also for routers that accept any id`() {
        var bench = ClientBench.joined()
        for handle in UInt64(1)...5 { bench.handle(.call(ClientHandle(handle))) }
        #expect(bench.look() == (1...5).map { .call(WAMPID($0)) })
    }

    @Test func `INVOCATION ids: a realm-wide counter may leave gaps, and may go back after a restart`() {
        var bench = ClientBench.joined()
        bench.handle(.offer(1))
        bench.receive(.registered(request: 1, registration: 5))
        _ = bench.look()
        bench.receive(.anInvocation(1000, 5), .anInvocation(7, 5), .anInvocation(.largestWAMPID, 5))
        #expect(bench.news().count == 3)
    }

    @Test func `CANCEL: a router that never answers leaves nothing pending`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(cancelMode: .skip)), .cancel(1))
        #expect(bench.look().last == .failed(1, .cancelled(wasSent: true)))
        #expect(bench.machine.waiting == 0 && bench.machine.deadline == nil)
    }

    @Test func `CANCEL: a late answer of the router is ignored`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1), .cancel(1), .call(2))
        _ = bench.look()
        bench.receive(.aRefusal(.call, 1, "wamp.error.canceled"), .aResult(1), .aResult(2))
        #expect(bench.look() == [.result(2)])
    }

    @Test func `CANCEL: the mode is always sent, because routers differ in the default`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1), .cancel(1))
        #expect(bench.look().contains(.cancel(1, "killnowait")))
    }

    @Test func `timeout: a dealer that only forwards it and a callee that ignores it do not delay the caller`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, CallOptions(timeout: .seconds(1))))
        #expect(bench.look() == [.call(1, ["timeout": 1000])])
        bench.pass(.seconds(1))
        #expect(bench.look() == [.cancel(1), .failed(1, .timedOut(wasSent: true))])
    }

    @Test func `timeout: a dealer that also enforces it answers first or is ignored`() {
        for isFirst in [true, false] {
            var bench = ClientBench.joined()
            bench.handle(.call(1, CallOptions(timeout: .seconds(1))))
            _ = bench.look()
            if !isFirst { bench.pass(.seconds(1)) }
            bench.receive(.aRefusal(.call, 1, "wamp.error.timeout"))
            bench.pass(.seconds(1))
            let ends = bench.news()
            #expect(ends.count == 1)
        }
    }

    @Test func `RESULT: unknown keys in the details are ignored`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1))
        _ = bench.look()
        bench.receive(.aResult(1, .none, ["callee": 7, "callee_authid": "joe", "progress": "no bool"]))
        #expect(bench.look() == [.result(1, details: ["callee": 7, "callee_authid": "joe", "progress": "no bool"])])
    }

    @Test func `progressive input: it is sent only to a dealer that announces it`() {
        for (features, isSent): (ValueMap, Bool) in [(ClientBench.everything, true), (ClientBench.nothing, false)] {
            var bench = ClientBench.joined(features)
            bench.handle(.callInParts(1, procedure: "com.add", .none, CallOptions()))
            #expect(bench.sent().isEmpty != isSent)
        }
    }

    @Test func `progressive input: each part that a router makes a new INVOCATION gets its own answer`() {
        var bench = ClientBench.joined()
        bench.handle(.offer(1))
        bench.receive(.registered(request: 1, registration: 5), .anInvocation(1, 5, ["progress": true]), .anInvocation(2, 5))
        let handles = bench.news().compactMap { if case .invoked(let handle, _, _, _) = $0 { handle } else { nil } }
        #expect(handles.count == 2)
        for handle in handles { bench.handle(.yield(handle, .none, isFinal: true)) }
        #expect(bench.sent() == [1, 2].map { .yield(request: $0, options: [:], .none) })
    }

    @Test func `invalid URIs: they are never sent, because some routers close the connection`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1, procedure: "com..add", .none, CallOptions()))
        #expect(bench.look() == [.failed(1, .invalidURI("com..add"))])
    }

    @Test(arguments: ["wamp.close.goodbye_and_out", "wamp.close.normal"])
    func `GOODBYE: any reason counts as an answer, and the client closes a connection that the router keeps open`(reason: String) {
        var bench = ClientBench.joined()
        bench.handle(.leave(reason: "wamp.close.close_realm"))
        _ = bench.look()
        bench.receive(.goodbye(details: [:], reason: reason, .none))
        #expect(bench.look() == [.drop(.left)])
    }

    @Test func `two listeners of one topic: the client sends one SUBSCRIBE, and UNSUBSCRIBE after the last has left`() {
        var bench = ClientBench.joined()
        bench.handle(.listen(1), .listen(2))
        bench.receive(.subscribed(request: 1, subscription: 5))
        bench.handle(.unsubscribe(1))
        #expect(bench.sent() == [.subscribe(request: 1, options: [:], topic: "com.chat")])
        bench.receive(.anEvent(5, 1))
        #expect(bench.look() == [.event([2], 5, 1)])
    }

    @Test func `revocation: request 0 is unsolicited and answers no request`() {
        var bench = ClientBench.joined()
        bench.handle(.listen(1), .offer(2))
        bench.receive(.subscribed(request: 1, subscription: 5), .registered(request: 2, registration: 6))
        _ = bench.look()
        bench.receive(.unsubscribed(request: 0, details: ["subscription": 5]), .unregistered(request: 0, details: ["registration": 6]))
        #expect(bench.look() == [.event(.suspended(2))])
        bench.pass(.milliseconds(100))
        #expect(bench.sent().map(\.name).sorted() == ["REGISTER", "SUBSCRIBE"])
    }

    @Test func `a registration that the lost session still holds is retried, with takeover where the router supports it`() {
        var bench = ClientBench.joined()
        bench.handle(.offer(1, "com.add", RegisterOptions(takesOver: true)))
        #expect(bench.look() == [.register(1, "com.add", ["force_reregister": true])])
        bench.receive(.registered(request: 1, registration: 5))
        bench.rejoin()
        _ = bench.look()
        bench.receive(.aRefusal(.register, 1, "wamp.error.procedure_already_exists"))
        bench.pass(.milliseconds(100))
        #expect(bench.look() == [.register(2, "com.add", ["force_reregister": true])])
    }

    @Test(arguments: [
        "wamp.error.no_matching_auth_method", "wamp.error.no_auth_method", "wamp.error.not_authorized", "wamp.error.authentication_failed",
    ])
    func `no common authentication method: each router's reason is final`(reason: String) {
        var bench = ClientBench()
        bench.handle(.open)
        _ = bench.look()
        bench.receive(.abort(details: [:], reason: reason, .none))
        #expect(bench.look() == [.drop(.dismissed(reason: reason, message: nil, isRetryable: false))])
    }

    @Test func `a router that leaves without GOODBYE is a lost connection`() {
        var bench = ClientBench.joined()
        bench.handle(.call(1), .listen(2))
        bench.receive(.subscribed(request: 2, subscription: 5))
        _ = bench.look()
        bench.handle(.lost)
        #expect(bench.look() == [.event(.parted), .failed(1, .connectionLost(wasSent: true))])
        bench.join()
        #expect(bench.look().last == .subscribe(1))
    }

    @Test func `after its session was killed on an open connection the client joins again on a new one`() {
        var bench = ClientBench.joined()
        bench.receive(.goodbye(details: [:], reason: "wamp.close.killed", .none))
        #expect(bench.look().last == .drop(.dismissed(reason: "wamp.close.killed", message: nil, isRetryable: true)))
    }

    @Test func `a router that never reacts to AUTHENTICATE runs into the join timeout`() {
        var bench = ClientBench(policy: ClientPolicy(realm: "realm1", authMethods: ["ticket"], joinPatience: .seconds(3)))
        bench.handle(.open)
        bench.receive(.challenge(method: "ticket", extra: [:]))
        _ = bench.look()
        bench.pass(.seconds(3))
        #expect(bench.look().last == .drop(.joinTimedOut))
    }

    @Test func `WELCOME may name another realm and omit roles`() {
        var bench = ClientBench()
        bench.join(["realm": "com.acme.assigned"])
        #expect(bench.news() == [.joined(JoinedSession(id: 9, realm: "com.acme.assigned", details: ["realm": "com.acme.assigned"]))])
    }
}
