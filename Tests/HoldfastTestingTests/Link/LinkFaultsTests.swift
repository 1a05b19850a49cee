import HoldfastTesting
import NIOCore
import Testing

/// The faults of a link, applied to real connections.
@Suite(.timeLimit(.minutes(2))) struct LinkFaultsTests: EchoBehindLink {
    /// What a test does with a connection.
    private typealias Exchange =
        @concurrent (inout NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator, NIOAsyncChannelOutboundWriter<ByteBuffer>)
        async throws -> Void

    /// Sends hello, waits for the echo, then runs `body` with the connection.
    private func greet(_ link: FaultyLink, _ body: Exchange) async throws {
        let connection = try await connect(to: link)
        try await connection.executeThenClose { inbound, outbound in
            var iterator = inbound.makeAsyncIterator()
            try await outbound.write(ByteBuffer(string: "hello"))
            let answer = try await iterator.next()
            #expect(answer == ByteBuffer(string: "hello"))
            try await body(&iterator, outbound)
        }
    }

    @Test func `a cut ends a connection with FIN or RST, as chosen`() async throws {
        try await withLink { link in
            try await greet(link) { inbound, _ in
                link.cut(.fin)
                let end = try await inbound.next()
                #expect(end == nil)
            }
            try await greet(link) { inbound, _ in
                link.cut(.rst)
                var isReset = false
                do { _ = try await inbound.next() } catch { isReset = true }
                #expect(isReset)
            }
            #expect(link.carried() == 20)
        }
    }

    @Test func `every connection breaks after the configured number of bytes`() async throws {
        try await withLink { link in
            link.cut(after: 12...12)
            for _ in 1...2 {
                try await greet(link) { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: "again"))
                    let end = try await inbound.next()
                    #expect(end == nil)
                }
            }
            #expect((link.carried(.up), link.carried(.down)) == (14, 10))
        }
    }

    @Test func `a closed port refuses connections and keeps open ones, and it can open again`() async throws {
        try await withLink { link in
            try await greet(link) { inbound, outbound in
                try await link.closePort()
                try await link.closePort()
                await #expect(throws: (any Error).self) { _ = try await connect(to: link) }
                try await outbound.write(ByteBuffer(string: "still here"))
                let answer = try await inbound.next()
                #expect(answer == ByteBuffer(string: "still here"))
                try await link.openPort()
                try await link.openPort()
                let again = try await echo(connect(to: link), ByteBuffer(string: "again"))
                #expect(again == ByteBuffer(string: "again"))
            }
            #expect(link.accepted == 2)
        }
    }

    @Test func `a port stays closed after the link was stopped`() async throws {
        try await withLink { link in
            try await link.stop()
            try await link.openPort()
            await #expect(throws: (any Error).self) { _ = try await connect(to: link) }
        }
    }

    @Test func `a throttled link delivers all bytes at its rate`() async throws {
        try await withLink { link in
            link.throttle(.down, to: 128 * 1024)
            let bytes = ByteBuffer(repeating: 7, count: 64 * 1024)
            let start = ContinuousClock.now
            let received = try await echo(connect(to: link), bytes)
            #expect(received == bytes)
            #expect(start.duration(to: .now) >= .milliseconds(400))
        }
    }

    @Test func `after heal everything works`() async throws {
        try await withLink { link in
            for fault in [.stall, .swallow(.both), .refuse, .close, .throttle(1, .both), .delay(.seconds(60) ... .seconds(60))] as [Fault] {
                try await link.apply(fault)
            }
            link.cut(after: 1...1)
            try await link.heal()
            let answer = try await echo(connect(to: link), ByteBuffer(string: "hello"))
            #expect(answer == ByteBuffer(string: "hello"))
        }
    }

    @Test(
        arguments: [
            .stall, .swallow(.up), .refuse, .close, .throttle(1, .up), .delay(.seconds(60) ... .seconds(60)), .cutAfter(1...1, .rst),
        ] as [Fault])
    func `a lifted fault has no effect any more`(fault: Fault) async throws {
        try await withLink { link in
            try await link.apply(fault)
            try await link.lift(fault)
            let answer = try await echo(connect(to: link), ByteBuffer(string: "hello"))
            #expect(answer == ByteBuffer(string: "hello"))
        }
    }

    // MARK: Scripts

    @Test func `a script runs by its clock and reports the faults as planned`() async throws {
        try await withLink { link in
            let clock = ManualClock()
            let script = try FaultScript("delay 1ms..2ms; after 2s cut rst; at 5s close 3s")
            let plan = Array(FaultPlan(script, seed: 1))
            #expect(plan.count == 4)
            async let reported = {
                var reported: [PlannedFault] = []
                try await link.follow(script, seed: 1, clock: clock) { reported.append($0) }
                return reported
            }()
            #expect(await clock.nextSleep() == .seconds(2))
            #expect(link.delay == .milliseconds(1) ... .milliseconds(2))
            try await greet(link) { inbound, _ in
                clock.advance(by: .seconds(2))
                let answer = try? await inbound.next()
                #expect(answer == nil)
            }
            #expect(await clock.nextSleep() == .seconds(3))
            clock.advance(by: .seconds(3))
            #expect(await clock.nextSleep() == .seconds(3))
            await #expect(throws: (any Error).self) { _ = try await connect(to: link) }
            clock.advance(by: .seconds(3))
            let played = try await reported
            #expect(played == plan)
            try await greet(link) { _, _ in }
        }
    }

    @Test func `overdue faults are applied at once without a sleep`() async throws {
        try await withLink { link in
            let clock = ManualClock()
            async let played: Void = link.follow(FaultScript("at 1s refuse; at 2s stall; at 3s heal; at 9s cut"), seed: 1, clock: clock)
            #expect(await clock.nextSleep() == .seconds(1))
            clock.advance(by: .seconds(5))
            #expect(await clock.nextSleep() == .seconds(4))
            try await greet(link) { _, _ in }
            clock.advance(by: .seconds(4))
            try await played
        }
    }

    @Test func `a script without an end stops when it is cancelled`() async throws {
        try await withLink { link in
            let clock = ManualClock()
            let playing = Task { try await link.follow(FaultScript("every 1s cut"), seed: 1, clock: clock) }
            for _ in 1...3 { clock.advance(by: await clock.nextSleep()) }
            await clock.nextSleep()
            playing.cancel()
            await #expect(throws: CancellationError.self) { try await playing.value }
        }
    }
}
