import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

@Suite("Dealer: registrations")
struct DealerRegisteringTests {
    let caller = Participant.peer(1)
    let callee = Participant.peer(2)
    let other = Participant.peer(3)

    @Test("a registered procedure is called, and its result is returned")
    func roundTrip() throws {
        var stage = DealerStage()
        let registration = try stage.offer("com.add", by: callee)
        #expect(
            stage.call("com.add", [:], WAMPArguments([1, 2]), by: caller) == [
                .send(.invocation(request: 1, registration: registration, details: [:], WAMPArguments([1, 2])), to: callee.connection)
            ])
        #expect(
            stage.yield(1, [:], WAMPArguments([3]), by: callee) == [
                .send(.result(request: 1, details: [:], WAMPArguments([3])), to: caller.connection)
            ])
        #expect(stage.dealer.waitingCalls == 0)
    }

    @Test("an unknown or unregistered procedure is an error")
    func unknown() throws {
        var stage = DealerStage()
        #expect(stage.call("com.add", by: caller).errors == [WAMPURI.Error.noSuchProcedure])
        let registration = try stage.offer("com.add", by: callee)
        let done = stage.ask { $0.unregister(2, registration: registration, by: callee, into: &$2) }
        #expect(done == [.send(.unregistered(request: 2, details: [:]), to: callee.connection)])
        #expect(stage.call("com.add", by: caller).errors == [WAMPURI.Error.noSuchProcedure])
        #expect(stage.dealer.registrations.isEmpty)
    }

    @Test("a session can unregister only its own procedure, and only once")
    func registrationOfAnotherSession() throws {
        var stage = DealerStage()
        let registration = try stage.offer("com.add", by: callee)
        #expect(
            stage.ask { $0.unregister(1, registration: registration, by: other, into: &$2) }.errors == [WAMPURI.Error.noSuchRegistration])
        _ = stage.ask { $0.unregister(2, registration: registration, by: callee, into: &$2) }
        #expect(
            stage.ask { $0.unregister(3, registration: registration, by: callee, into: &$2) }.errors == [WAMPURI.Error.noSuchRegistration])
    }

    @Test("a procedure that is not shared has one callee, and a second REGISTER is refused")
    func alone() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.add", by: callee)
        #expect(stage.register("com.add", by: other).errors == [WAMPURI.Error.procedureAlreadyExists])
        #expect(stage.register("com.add", ["invoke": "first"], by: other).errors == [WAMPURI.Error.procedureAlreadyExists])
        #expect(stage.register("com.add", by: callee).errors == [WAMPURI.Error.procedureAlreadyExists])
        #expect(stage.call("com.add", by: caller).receivers == [callee.connection])
    }

    @Test("one URI as prefix, as wildcard and as exact match makes three registrations")
    func matchesApart() throws {
        var stage = DealerStage()
        let ids = try [
            stage.offer("com.add", by: callee), stage.offer("com.add", ["match": "prefix"], by: callee),
            stage.offer("com.add", ["match": "wildcard"], by: callee),
        ]
        #expect(Set(ids).count == 3)
    }

    @Test(
        "invalid URIs are not registered",
        arguments: ["", "com..add", "com.a#d", "com.a d", ".com", "com.", "wamp", "wamp.session.count"])
    func invalidURIs(uri: String) {
        var stage = DealerStage()
        #expect(stage.register(uri, by: callee).errors == [WAMPURI.Error.invalidURI])
        #expect(stage.dealer.isEmpty)
    }

    @Test("options of the wrong type are a violation")
    func wrongTypes() {
        var stage = DealerStage()
        for options: ValueMap in [
            ["match": 1], ["invoke": true], ["concurrency": "many"], ["disclose_caller": "yes"], ["forward_timeout": 1],
        ] {
            #expect(stage.verdict { $0.register(1, options, "com.add", by: callee, at: $1, into: &$2) }?.hasSuffix("wrong type") == true)
        }
        #expect(stage.dealer.isEmpty)
    }

    @Test("options with invalid values are refused")
    func invalidOptions() {
        var stage = DealerStage()
        for options: ValueMap in [["match": "regex"], ["invoke": "all"], ["concurrency": 0]] {
            #expect(stage.register("com.add", options, by: callee).errors == [WAMPURI.Error.invalidArgument], "\(options)")
        }
        #expect(stage.dealer.isEmpty)
    }

    @Test("an exact match goes before a prefix, a longer prefix before a shorter one, a prefix before a wildcard")
    func precedence() throws {
        // The example of WAMP, "Calls matching multiple registrations", with `x33` for `c33`: in the example the prefix `a1.b2.c3`
        // does not match `a1.b2.c33`, but in "Prefix Matching" `com.myapp.myobject1` matches `com.myapp.myobject1-mysubobject1`.
        var stage = DealerStage()
        let offers: [(String, WAMPMatch)] = [
            ("a1.b2.c3.d4.e55", .exact), ("a1.b2.c3", .prefix), ("a1.b2.c3.d4", .prefix), ("a1.b2..d4.e5", .wildcard),
            ("a1.b2.x33..e5", .wildcard), ("a1.b2..d4.e5..g7", .wildcard), ("a1.b2..d4..f6.g7", .wildcard),
        ]
        for (number, offer) in offers.enumerated() {
            _ = try stage.offer(offer.0, ["match": .text(offer.1.rawValue)], by: .peer(UInt64(number) + 1))
        }
        let calls: [(String, UInt64?)] = [
            ("a1.b2.c3.d4.e55", 1), ("a1.b2.c3.d98.e74", 2), ("a1.b2.c3.d4.e325", 3), ("a1.b2.c55.d4.e5", 4), ("a1.b2.x33.d4.e5", 5),
            ("a1.b2.c88.d4.e5.f6.g7", 6), ("a2.b2.c2.d2.e2", nil),
        ]
        let caller = Participant.peer(100)
        for (uri, number) in calls {
            let effects = stage.call(uri, by: caller)
            #expect(effects.receivers == [number.map { RouterConnection($0) } ?? caller.connection], "\(uri)")
            guard let details = effects.invocations.first else { continue }
            #expect(details["procedure"] == (number == 1 ? nil : .text(uri)), "the callee of a pattern gets the called procedure")
        }
    }

    @Test("later callees of a shared procedure must use the policy of the first")
    func sharing() throws {
        var stage = DealerStage()
        let first = try stage.offer("com.add", ["invoke": "roundrobin"], by: callee)
        #expect(stage.register("com.add", ["invoke": "random"], by: other).errors == [WAMPURI.Error.procedureAlreadyExists])
        #expect(stage.register("com.add", by: other).errors == [WAMPURI.Error.procedureAlreadyExists])
        #expect(stage.register("com.add", ["invoke": "roundrobin"], by: callee).errors == [WAMPURI.Error.procedureAlreadyExists])
        #expect(try stage.offer("com.add", ["invoke": "roundrobin"], by: other) == first)
    }

    @Test("each policy selects the right callee, also after one has left")
    func policies() throws {
        let expected: [(String, [UInt64], [UInt64])] = [
            ("first", [1, 1, 1, 1], [1, 1]), ("last", [3, 3, 3, 3], [3, 3]), ("roundrobin", [1, 2, 3, 1], [3, 1]),
        ]
        for (policy, before, after) in expected {
            var stage = DealerStage()
            for number: UInt64 in 1...3 { _ = try stage.offer("com.add", ["invoke": .text(policy)], by: .peer(number)) }
            let caller = Participant.peer(9)
            #expect(
                (0..<4).flatMap { _ in stage.call("com.add", by: caller).receivers } == before.map { RouterConnection($0) }, "\(policy)")
            _ = stage.leave(.peer(2))
            #expect((0..<2).flatMap { _ in stage.call("com.add", by: caller).receivers } == after.map { RouterConnection($0) }, "\(policy)")
        }
    }

    @Test("the random policy calls each callee")
    func random() throws {
        var stage = DealerStage()
        for number: UInt64 in 1...3 { _ = try stage.offer("com.add", ["invoke": "random"], by: .peer(number)) }
        let called = (0..<100).flatMap { _ in stage.call("com.add", by: .peer(9)).receivers }
        #expect(Set(called) == Set([1, 2, 3].map { RouterConnection($0) }))
        #expect(called != called.sorted { $0.number < $1.number })
    }

    @Test("a callee at its concurrency limit is skipped")
    func concurrency() throws {
        var stage = DealerStage()
        _ = try stage.offer("com.add", ["invoke": "first", "concurrency": 1], by: callee)
        _ = try stage.offer("com.add", ["invoke": "first", "concurrency": 1], by: other)
        #expect(stage.call("com.add", by: caller).receivers == [callee.connection])
        #expect(stage.call("com.add", by: caller).receivers == [other.connection])
        #expect(stage.call("com.add", by: caller).errors == [WAMPURI.Error.noAvailableCallee])
        _ = stage.yield(1, by: callee)
        #expect(stage.call("com.add", by: caller).receivers == [callee.connection])
    }

    @Test("a callee that registers again keeps its pending call, which counts against its concurrency")
    func concurrencyOfOneThatComesBack() throws {
        var stage = DealerStage()
        let options: ValueMap = ["invoke": "first", "concurrency": 1]
        let registration = try stage.offer("com.add", options, by: callee)
        _ = try stage.offer("com.add", options, by: other)
        #expect(stage.call("com.add", by: caller).receivers == [callee.connection])
        let request = stage.next(of: callee)
        _ = stage.ask { $0.unregister(request, registration: registration, by: callee, into: &$2) }
        #expect(try stage.offer("com.add", options, by: callee) == registration)
        #expect(stage.call("com.add", by: caller).receivers == [other.connection])
        #expect(stage.call("com.add", by: caller).errors == [WAMPURI.Error.noAvailableCallee])
        // It is free again, for one call.
        _ = stage.yield(1, by: callee)
        #expect(stage.call("com.add", by: caller).receivers == [callee.connection])
        #expect(stage.call("com.add", by: caller).errors == [WAMPURI.Error.noAvailableCallee])
    }

    @Test("a revocation is announced to callees that support it, and the registration is gone for all")
    func revocation() throws {
        var stage = DealerStage()
        let plain = Participant.peer(4, .interrupts)
        let registration = try stage.offer("com.add", ["invoke": "first"], by: callee)
        _ = try stage.offer("com.add", ["invoke": "first"], by: plain)
        let revocation = stage.revoke(registration)
        #expect(revocation.wasThere)
        #expect(
            revocation.effects == [
                .send(.unregistered(request: 0, details: ["registration": Value(registration), "reason": "moved"]), to: callee.connection)
            ])
        #expect(stage.call("com.add", by: caller).errors == [WAMPURI.Error.noSuchProcedure])
        #expect(stage.revoke(registration) == (false, []))
    }

    @Test("quirk: a revocation is not announced")
    func concealedRevocation() throws {
        var stage = DealerStage { $0.quirks.concealsRevocation = true }
        let registration = try stage.offer("com.add", by: callee)
        #expect(stage.revoke(registration) == (true, []))
    }

    @Test("quirk: force_reregister takes over a registration; without the quirk it is ignored")
    func takeover() throws {
        var stage = DealerStage { $0.quirks.allowsTakeover = true }
        let old = try stage.offer("com.add", by: callee)
        #expect(stage.register("com.add", by: other).errors == [WAMPURI.Error.procedureAlreadyExists])
        let effects = stage.register("com.add", ["force_reregister": true], by: other)
        #expect(effects.types == [67, 65])
        #expect(effects.receivers == [callee.connection, other.connection])
        #expect(stage.dealer.registrations[old] == nil)
        #expect(stage.call("com.add", by: caller).receivers == [other.connection])

        var strict = DealerStage()
        _ = try strict.offer("com.add", by: callee)
        #expect(strict.register("com.add", ["force_reregister": true], by: other).errors == [WAMPURI.Error.procedureAlreadyExists])
    }

    @Test("the number of registrations of a session is limited")
    func bound() throws {
        var stage = DealerStage { $0.maximumRegistrations = 2 }
        _ = try stage.offer("com.a", by: callee)
        let second = try stage.offer("com.b", by: callee)
        #expect(stage.register("com.c", by: callee).errors == [WAMPURI.Error.unavailable])
        _ = try stage.offer("com.c", by: other)
        _ = stage.ask { $0.unregister(4, registration: second, by: callee, into: &$2) }
        _ = try stage.offer("com.d", by: callee)
    }

    @Test("meta events come in order: created, registered, unregistered, deleted")
    func metaEvents() throws {
        var stage = DealerStage()
        let id = try stage.offer("com.add", ["invoke": "last", "match": "prefix"], by: callee)
        _ = try stage.offer("com.add", ["invoke": "last", "match": "prefix"], by: other)
        _ = stage.leave(callee)
        _ = stage.ask { $0.unregister(2, registration: id, by: other, into: &$2) }
        guard case .registrationCreated(callee.session, let details)? = stage.dealer.metaEvents.first else {
            Issue.record("\(stage.dealer.metaEvents)")
            return
        }
        #expect(details["id"] == Value(id) && details["uri"] == "com.add" && details["match"] == "prefix" && details["invoke"] == "last")
        #expect(
            stage.dealer.metaEvents.dropFirst() == [
                .registered(callee.session, registration: id), .registered(other.session, registration: id),
                .unregistered(callee.session, registration: id), .unregistered(other.session, registration: id),
                .registrationDeleted(by: other.session, registration: id),
            ])
    }

    @Test("without the meta API no meta events are collected")
    func noMetaAPI() throws {
        var stage = DealerStage { $0.hasMetaAPI = false }
        _ = try stage.offer("com.add", by: callee)
        _ = stage.leave(callee)
        #expect(stage.dealer.metaEvents.isEmpty)
        #expect(stage.dealer.isEmpty)
    }
}
