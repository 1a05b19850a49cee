import CodecCore
import HoldfastRouter
import Testing
import WAMPCore

/// Clients that send more than others take.
@Suite(.timeLimit(.minutes(1))) struct RouterFloodTests {
    private static let content: [Value] = [.text(String(repeating: "x", count: 32 * 1024))]
    /// The rate of a client is checked after a quarter of a second.
    private static let configuration = WAMPRouterConfiguration.quiet { $0.limits.waiting = 256 * 1024 }

    @Test func `a flood of calls does not cut off the callee, and calls beyond its queue get an error`() async throws {
        try await RouterStage.run(Self.configuration) { stage in
            let (callee, caller, other) = (try await stage.member(), try await stage.member(), try await stage.member())
            _ = try await callee.register(1, "com.app.work")
            async let flood: Void = {
                for request in 1...40 { try await caller.call(WAMPID(request), "com.app.work", Self.content) }
            }()
            guard case .error(.call, let refused, _, WAMPURI.Error.unavailable, _) = try await caller.next() else {
                throw RouterGuest.Ended()
            }
            try await flood
            #expect(refused > 1 && stage.router.status.overruns == 0 && stage.router.status.refusedMessages > 0)
            // The callee still has its registration.
            try await other.say(.register(request: 1, options: ValueMap(), procedure: "com.app.work"))
            #expect(try await other.error(of: .register, 1) == WAMPURI.Error.procedureAlreadyExists)
            // The first calls are still in its queue.
            try await callee.answer()
            while true {
                let message = try await caller.next()
                guard case .error(.call, _, _, let uri, _) = message else {
                    guard case .result(1, _, _) = message else { throw RouterGuest.Ended() }
                    break
                }
                #expect(uri == WAMPURI.Error.unavailable)
            }
        }
    }

    @Test func `a publisher that is faster than its subscriber is paused, and no event is lost`() async throws {
        try await RouterStage.run(Self.configuration) { stage in
            let (subscriber, publisher) = (try await stage.member(), try await stage.member())
            _ = try await subscriber.subscribe(1, "com.app.flood")
            async let flood: Void = {
                for request in 1...400 {
                    try await publisher.publish(WAMPID(request), "com.app.flood", [.integer(Int64(request))] + Self.content)
                }
            }()
            for number in 1...400 { #expect(try await subscriber.event().first == .integer(Int64(number))) }
            try await flood
            #expect(stage.router.status.overruns == 0 && stage.router.status.refusedMessages == 0)
        }
    }

    @Test func `a caller that does not read gets no progressive result after a missing one`() async throws {
        try await RouterStage.run(Self.configuration) { stage in
            let (callee, caller) = (try await stage.member(), try await stage.member())
            _ = try await callee.register(1, "com.app.parts")
            try await caller.say(.call(request: 1, options: ["receive_progress": true], procedure: "com.app.parts", .none))
            guard case .invocation(let request, _, _, _) = try await callee.next() else { throw RouterGuest.Ended() }
            async let flood: Void = {
                for number in 1...40 {
                    let part = WAMPArguments([.integer(Int64(number))] + Self.content)
                    try await callee.say(.yield(request: request, options: ["progress": true], part))
                }
                try await callee.say(.yield(request: request, options: ValueMap(), .none))
            }()
            guard case .interrupt(request, _) = try await callee.next() else { throw RouterGuest.Ended() }
            try await flood
            #expect(stage.router.status.overruns == 0)
            var number: Int64 = 0
            while case .result(1, _, let arguments) = try await caller.next() {
                number += 1
                #expect(try arguments.list.first == .integer(number))
            }
            // The loop ended with the error.
            #expect(number > 0 && number < 40)
            try await caller.call(2, "com.app.nothing")
            #expect(try await caller.error(of: .call, 2) == WAMPURI.Error.noSuchProcedure)
        }
    }
}
