import CodecCore
import Holdfast
import HoldfastRouter
import HoldfastTesting
import Testing
import WAMPCore

/// Faults as clients see them.
@Suite(.timeLimit(.minutes(1))) struct RouterFaultsTests {
    private let clock = ManualClock()

    /// A caller and a callee of `com.app.echo`.
    private func run(_ body: (RouterStage, _ caller: RouterGuest, _ callee: RouterGuest) async throws -> Void) async throws {
        try await RouterStage.run(clock: clock) { stage in
            let (caller, callee) = (try await stage.member(), try await stage.member(.messagePack))
            _ = try await callee.register(1, "com.app.echo")
            try await body(stage, caller, callee)
        }
    }

    @Test func `a dropped message does not arrive, and the next one does`() async throws {
        try await run { stage, caller, callee in
            let fault = stage.router.faults.add(.drop(.result))
            for request in WAMPID(1)...2 {
                try await caller.call(request, "com.app.echo", [.integer(Int64(request))])
                try await callee.answer()
            }
            #expect(try await caller.result(of: 2) == [2])
            await fault.triggered()
        }
    }

    @Test func `a doubled reply arrives twice`() async throws {
        try await run { stage, caller, callee in
            stage.router.faults.add(.double(.result))
            try await caller.call(1, "com.app.echo", [1])
            try await callee.answer()
            #expect(try await caller.result(of: 1) == [1])
            #expect(try await caller.result(of: 1) == [1])
        }
    }

    @Test func `a late message arrives after later ones`() async throws {
        try await run { stage, caller, callee in
            let fault = stage.router.faults.add(.late(.result, by: .seconds(2)))
            for request in WAMPID(1)...2 {
                try await caller.call(request, "com.app.echo")
                try await callee.answer()
            }
            _ = try await caller.result(of: 2)
            await fault.triggered()
            clock.advance(by: .seconds(2))
            _ = try await caller.result(of: 1)
        }
    }

    @Test func `later messages wait behind a delayed one`() async throws {
        try await run { stage, caller, callee in
            let fault = stage.router.faults.add(.delay(.result, by: .seconds(2)))
            for request in WAMPID(1)...2 {
                try await caller.call(request, "com.app.echo")
                try await callee.answer()
            }
            await fault.triggered()
            // Another client gets its answer meanwhile.
            try await callee.say(.call(request: 2, options: ValueMap(), procedure: "wamp.session.count", .none))
            #expect(try await callee.result(of: 2) == [2])
            clock.advance(by: .seconds(2))
            _ = try await caller.result(of: 1)
            _ = try await caller.result(of: 2)
        }
    }

    @Test func `a stalled client gets all messages when the stall is released`() async throws {
        try await run { stage, caller, callee in
            let fault = stage.router.faults.add(.stall(.result))
            for request in WAMPID(1)...3 {
                try await caller.call(request, "com.app.echo")
                try await callee.answer()
            }
            await fault.triggered()
            stage.router.faults.release()
            for request in WAMPID(1)...3 { _ = try await caller.result(of: request) }
        }
    }

    @Test func `messages from clients can be stalled as well and keep their order`() async throws {
        try await run { stage, caller, callee in
            let fault = stage.router.faults.add(.stall(.call))
            try await caller.call(1, "com.app.echo", [1])
            await fault.triggered()
            try await caller.call(2, "com.app.echo", [2])
            stage.router.faults.release()
            for request in WAMPID(1)...2 {
                try await callee.answer()
                #expect(try await caller.result(of: request) == [.integer(Int64(request))])
            }
        }
    }

    @Test func `a cut connection ends without a close frame, and its session with it`() async throws {
        try await run { stage, caller, callee in
            stage.router.faults.add(.cut(.call))
            try await caller.call(1, "com.app.echo")
            #expect(try await caller.closeCode() == nil)
            _ = callee
        }
    }

    @Test func `a killed session gets the reason`() async throws {
        try await RouterStage.run(clock: clock) { stage in
            let guest = stage.guest()
            let session = try await guest.join()
            stage.router.faults.kill(session, message: "a test wants it")
            guard case .goodbye(let details, let reason, _) = try await guest.next() else { throw RouterGuest.Ended() }
            #expect(reason == WAMPURI.Close.killed && details["message"] == "a test wants it")
            try await guest.say(.goodbye(details: ValueMap(), reason: WAMPURI.Close.goodbyeAndOut, .none))
            #expect(try await guest.closeCode() == 1000)
        }
    }

    @Test func `a revoked subscription gets no more events, and its subscriber is told`() async throws {
        try await RouterStage.run { stage in
            let (subscriber, publisher) = (stage.guest(), try await stage.member())
            let features: ValueMap = ["roles": ["subscriber": ["features": ["subscription_revocation": true]]]]
            try await subscriber.say(.hello(realm: "realm1", details: features))
            _ = try await subscriber.next()
            let subscription = try await subscriber.subscribe(1, "com.app.chat")
            stage.router.faults.revoke(subscription, realm: "realm1", reason: "com.app.why")
            guard case .unsubscribed(0, let details) = try await subscriber.next() else { throw RouterGuest.Ended() }
            #expect(details["subscription"] == Value(subscription) && details["reason"] == "com.app.why")
            try await publisher.publishAcknowledged(1, "com.app.chat")
            _ = try await subscriber.subscribe(2, "com.app.other")
        }
    }

    @Test func `a revocation by name applies to every session that has it`() async throws {
        try await run { stage, caller, callee in
            stage.router.faults.revoke("com.app.echo", realm: "realm1")
            try await caller.call(1, "com.app.echo")
            #expect(try await caller.error(of: .call, 1) == WAMPURI.Error.noSuchProcedure)
            _ = callee
        }
    }

    @Test func `a removed fault matches nothing`() async throws {
        try await run { stage, caller, callee in
            let fault = stage.router.faults.add(.drop(.result, times: 10))
            fault.remove()
            await fault.triggered()
            try await caller.call(1, "com.app.echo")
            try await callee.answer()
            _ = try await caller.result(of: 1)
        }
    }

    @Test func `a fault applies only to the messages it names`() async throws {
        try await run { stage, caller, callee in
            _ = try await callee.register(2, "com.app.other")
            var fault = RouterFault.drop(.call)
            (fault.uri, fault.skipping) = ("com.app.other", 1)
            stage.router.faults.add(fault)
            try await caller.call(1, "com.app.other")
            try await callee.answer()
            _ = try await caller.result(of: 1)
            try await caller.call(2, "com.app.echo")
            try await callee.answer()
            _ = try await caller.result(of: 2)
            // The router does not get this request and answers the next one.
            try await caller.call(3, "com.app.other")
            try await caller.call(4, "com.app.echo")
            try await callee.answer()
            _ = try await caller.result(of: 4)
        }
    }

    @Test func `a late request is answered late, and a doubled one twice, without a violation`() async throws {
        try await run { stage, caller, _ in
            let late = stage.router.faults.add(.late(.subscribe, by: .seconds(2)))
            try await caller.say(.subscribe(request: 1, options: ValueMap(), topic: "com.app.late"))
            await late.triggered()
            _ = try await caller.subscribe(2, "com.app.early")
            clock.advance(by: .seconds(2))
            guard case .subscribed(1, let subscription) = try await caller.next() else { throw RouterGuest.Ended() }
            stage.router.faults.add(.double(.unsubscribe))
            try await caller.say(.unsubscribe(request: 3, subscription: subscription))
            guard case .unsubscribed(3, _) = try await caller.next() else { throw RouterGuest.Ended() }
            #expect(try await caller.error(of: .unsubscribe, 3) == WAMPURI.Error.noSuchSubscription)
            _ = try await caller.subscribe(4, "com.app.other")
        }
    }

    @Test func `a late request is authorized like any other`() async throws {
        let configuration = WAMPRouterConfiguration.quiet {
            $0.authorization = { _, _, uri, _ in uri == "com.app.closed" ? .denied : .allowed }
        }
        try await RouterStage.run(configuration, clock: clock) { stage in
            let guest = try await stage.member()
            stage.router.faults.add(.double(.subscribe))
            try await guest.say(.subscribe(request: 1, options: ValueMap(), topic: "com.app.closed"))
            for _ in 0..<2 { #expect(try await guest.error(of: .subscribe, 1) == WAMPURI.Error.notAuthorized) }
            _ = try await guest.subscribe(2, "com.app.open")
        }
    }
}
