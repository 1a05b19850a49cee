import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable import WAMPCore

@Suite struct ClientProcedureTests {
    private let exists = "wamp.error.procedure_already_exists"

    /// A client that offers `com.add` as 1, registered as 5.
    private func offering(_ options: RegisterOptions = RegisterOptions()) -> ClientBench {
        var bench = ClientBench.joined()
        bench.handle(.offer(1, "com.add", options))
        bench.receive(.registered(request: 1, registration: 5))
        _ = bench.look()
        return bench
    }

    // MARK: Registering

    @Test func `a procedure is registered with its options and unregistered`() {
        var bench = ClientBench.joined()
        bench.handle(
            .offer(
                1, "com..add", RegisterOptions(match: .wildcard, sharing: .roundRobin, takesOver: true, other: ["disclose_caller": true])))
        #expect(
            bench.look() == [
                .register(
                    1, "com..add", ["disclose_caller": true, "match": "wildcard", "invoke": "roundrobin", "force_reregister": true])
            ])
        bench.receive(.registered(request: 1, registration: 5))
        #expect(bench.look() == [.registered(1, 5)])
        bench.handle(.unregister(1), .unregister(1))
        #expect(bench.look() == [.unregister(2, 5)])
        bench.receive(.unregistered(request: 2, details: [:]))
        #expect(bench.look() == [])
        #expect(bench.machine.procedures.isEmpty)
    }

    @Test func `a registration that is refused the first time fails at once`() {
        var bench = ClientBench.joined()
        bench.handle(.offer(1))
        _ = bench.look()
        bench.receive(.aRefusal(.register, 1, exists))
        #expect(bench.look() == [.failed(1, .refused(uri: exists, arguments: .none))])
        #expect(bench.machine.procedures.isEmpty)
    }

    @Test func `a URI has one REGISTER or UNREGISTER in flight at a time, and the next one waits`() {
        var bench = ClientBench.joined()
        bench.handle(.offer(1), .unregister(1), .offer(2))
        #expect(bench.look() == [.register(1)])
        bench.receive(.registered(request: 1, registration: 5))
        #expect(bench.look() == [.unregister(2, 5)])
        bench.handle(.unregister(2), .offer(3), .offer(4, "com.other"))
        #expect(bench.look() == [.register(3, "com.other")])
        bench.receive(.unregistered(request: 2, details: [:]))
        #expect(bench.look() == [.register(4)])
        bench.receive(.registered(request: 4, registration: 6))
        #expect(bench.look() == [.registered(3, 6)])
    }

    @Test func `a refused UNREGISTER counts as done`() {
        var bench = offering()
        bench.handle(.unregister(1), .offer(2))
        bench.receive(.aRefusal(.unregister, 2, "wamp.error.no_such_registration"))
        #expect(bench.look() == [.unregister(2, 5), .register(3)])
    }

    @Test func `patterns and shared registrations fail at a dealer that announces features without them`() {
        let bare: ValueMap = ["roles": ["dealer": ["features": ["call_timeout": true]]]]
        var bench = ClientBench.joined(bare)
        bench.handle(.offer(1, "com.", RegisterOptions(match: .prefix)), .offer(2, "com.add", RegisterOptions(sharing: .random)))
        #expect(
            bench.look() == [.failed(1, .unsupported("pattern_based_registration")), .failed(2, .unsupported("shared_registration"))])
    }

    @Test func `a procedure waits for the session and the answer no longer than its patience`() {
        var bench = ClientBench()
        bench.handle(.offer(1), .register(2, procedure: "a.b", RegisterOptions(), patience: nil))
        bench.pass(.seconds(10))
        #expect(bench.look() == [.failed(2, .notJoined), .failed(1, .timedOut(wasSent: false))])
        bench.handle(.offer(3))
        bench.join()
        _ = bench.look()
        bench.pass(.seconds(10))
        #expect(bench.look() == [.failed(3, .timedOut(wasSent: true))])
        bench.receive(.registered(request: 1, registration: 5))
        #expect(bench.look() == [.unregister(2, 5)], "a late registration is released")
    }

    @Test(arguments: [true, false])
    func `an overdue answer ends the connection once the URI is needed again`(isRegister: Bool) {
        var bench = ClientBench.joined()
        bench.handle(.offer(1))
        if !isRegister { bench.receive(.registered(request: 1, registration: 5)) }
        bench.pass(.seconds(1))
        bench.handle(.unregister(1))
        bench.pass(.seconds(8))
        bench.handle(.offer(2))
        #expect(!bench.look().contains { if case .event(.ended) = $0 { true } else { false } }, "the answer may still come")
        bench.pass(.seconds(2))
        bench.handle(.offer(3))
        #expect(bench.look().contains(.drop(.violation("REGISTER or UNREGISTER was not answered in time"))))
        bench.handle(.lost)
        bench.join()
        #expect(bench.sent().filter { if case .register = $0 { true } else { false } }.count == 2, "both are registered again")
    }

    @Test func `REGISTERED with the id of another procedure is a violation`() {
        var bench = offering()
        bench.handle(.offer(2, "com.other"))
        _ = bench.look()
        bench.receive(.registered(request: 2, registration: 5))
        #expect(bench.look().contains(.drop(.violation("REGISTERED gives one registration to two procedures"))))
    }

    // MARK: Loss

    @Test func `after a reconnect all procedures are registered again in order with their options`() {
        var bench = ClientBench.joined()
        bench.handle(.offer(1, "com.b", RegisterOptions(sharing: .last)), .offer(2, "com.a"), .offer(3, "com.c"))
        for request in WAMPID(1)...3 { bench.receive(.registered(request: request, registration: request + 10)) }
        bench.handle(.unregister(3))
        _ = bench.look()
        bench.handle(.lost)
        #expect(bench.look() == [.event(.parted), .event(.suspended(1)), .event(.suspended(2))])
        bench.join()
        #expect(bench.look().suffix(2) == [.register(1, "com.b", ["invoke": "last"]), .register(2, "com.a")])
        bench.receive(.registered(request: 1, registration: 20))
        #expect(bench.look() == [.registered(1, 20)])
    }

    @Test func `a lost REGISTER is retried within its patience, even while the router still has the old registration`() {
        var bench = ClientBench.joined()
        bench.handle(.offer(1), .register(2, procedure: "a.b", RegisterOptions(), patience: nil))
        _ = bench.look()
        bench.handle(.lost)
        #expect(bench.look() == [.event(.parted), .failed(2, .connectionLost(wasSent: true))])
        bench.join()
        bench.receive(.aRefusal(.register, 1, exists))
        _ = bench.look()
        bench.pass(.milliseconds(100))
        #expect(bench.look() == [.register(2)])
    }

    @Test func `a registration that the lost session still holds is retried with growing pauses`() {
        var bench = offering(RegisterOptions(takeoverPatience: .seconds(30)))
        bench.rejoin()
        _ = bench.look()
        var request = WAMPID(1)
        var pauses: [Duration] = []
        while true {
            bench.receive(.aRefusal(.register, request, exists))
            guard let next = bench.machine.deadline else { break }
            #expect(bench.look() == [])
            pauses.append(next - bench.now)
            bench.pass(next - bench.now)
            request += 1
            #expect(bench.look() == [.register(request)])
        }
        #expect(bench.look() == [.failed(1, .refused(uri: exists, arguments: .none))])
        #expect(bench.now >= Moment(.seconds(30)) && bench.now < Moment(.seconds(36)))
        #expect(pauses.allSatisfy { $0 >= .milliseconds(50) && $0 <= .seconds(5) })
        #expect(pauses.count > 8 && pauses[7] > pauses[0] * 4)
    }

    @Test func `the procedure is registered again once the router has released the lost session`() {
        var bench = offering()
        bench.rejoin()
        bench.receive(.aRefusal(.register, 1, exists))
        _ = bench.look()
        bench.pass(.milliseconds(100))
        bench.receive(.registered(request: 2, registration: 7))
        #expect(bench.look() == [.register(2), .registered(1, 7)])
    }

    @Test func `an unregistered procedure is not retried`() {
        var bench = offering()
        bench.rejoin()
        bench.receive(.aRefusal(.register, 1, exists))
        bench.handle(.unregister(1))
        _ = bench.look()
        bench.pass(.seconds(100))
        #expect(bench.look() == [])
        #expect(bench.machine.procedures.isEmpty)
    }

    @Test func `the client leaves a router that does not register an earlier procedure again in time`() {
        var bench = offering()
        bench.rejoin()
        _ = bench.look()
        bench.pass(.seconds(10))
        #expect(bench.look().contains(.drop(.violation("REGISTER was not answered in time"))))
    }

    // MARK: Revocation

    @Test func `a revoked registration is requested again after a pause`() {
        var bench = offering()
        bench.receive(.unregistered(request: 0, details: ["registration": 5, "reason": "x"]))
        #expect(bench.look() == [.event(.suspended(1))])
        bench.receive(.anInvocation(1, 5))
        #expect(bench.sent().count == 1, "the invocation is refused")
        bench.pass(.milliseconds(100))
        bench.receive(.registered(request: 2, registration: 6))
        #expect(bench.look() == [.register(2), .registered(1, 6)])
    }

    @Test(arguments: ["wamp.error.procedure_already_exists", "wamp.error.unavailable"])
    func `a revoked registration that is refused temporarily is retried`(uri: String) {
        var bench = offering()
        bench.receive(.unregistered(request: 0, details: ["registration": 5]))
        bench.pass(.milliseconds(100))
        bench.receive(.aRefusal(.register, 2, uri))
        _ = bench.look()
        bench.pass(.milliseconds(200))
        #expect(bench.look() == [.register(3)])
        bench.receive(.aRefusal(.register, 3, "wamp.error.not_authorized"))
        #expect(bench.look() == [.failed(1, .refused(uri: "wamp.error.not_authorized", arguments: .none))])
    }

    @Test func `each successful registration restarts the takeover patience`() {
        var bench = offering(RegisterOptions(takeoverPatience: .seconds(2)))
        for _ in 0..<3 {
            bench.rejoin()
            bench.receive(.aRefusal(.register, 1, exists))
            bench.pass(.seconds(1))
            _ = bench.look()
            bench.receive(.registered(request: bench.machine.numbers.last, registration: 5))
            #expect(bench.look() == [.registered(1, 5)])
            bench.pass(.seconds(5))
        }
    }

    @Test func `a registration that is revoked repeatedly is given up`() {
        var bench = offering()
        for turn in WAMPID(0)..<8 {
            bench.receive(.unregistered(request: 0, details: ["registration": 5]))
            bench.pass(.seconds(5))
            bench.receive(.registered(request: turn + 2, registration: 5))
        }
        _ = bench.look()
        bench.receive(.unregistered(request: 0, details: ["registration": 5, "reason": "com.acme.no_more"]))
        #expect(bench.look() == [.failed(1, .refused(uri: "com.acme.no_more", arguments: .none))])
    }

    @Test func `a revocation without details or with an unknown id is ignored`() {
        var bench = offering()
        bench.receive(
            .unregistered(request: 0, details: [:]), .unregistered(request: 0, details: ["registration": 6]),
            .unregistered(request: 0, details: ["registration": -5]))
        #expect(bench.look() == [])
    }
}
