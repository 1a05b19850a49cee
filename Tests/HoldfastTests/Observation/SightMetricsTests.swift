import Metrics
import HoldfastTesting
import MetricsTestKit
import Testing

@testable import Holdfast

/// The metrics of a session.
@Suite(.timeLimit(.minutes(1))) struct SightMetricsTests {
    private let sight = Sight()

    @Test func `reconnect attempts, connections and errors by kind are counted`() async throws {
        let stage = sight.stage()
        var reader = stage.eventReader()
        for _ in 1...2 {
            try await stage.refuse()
            _ = await reader.next()
            await stage.pause()
        }
        try await stage.accept().cut()
        _ = await reader.next()
        _ = await reader.next()
        #expect(sight.count("reconnect_attempts") == 2)
        #expect(sight.count("connections") == 1)
        #expect(sight.count("errors", [("kind", "unreachable")]) == 2)
        #expect(sight.count("errors", [("kind", "lost")]) == 1)
    }

    @Test func `a clean end is not an error, and a close with an error code is one`() async throws {
        let stage = sight.stage()
        var reader = stage.eventReader()
        _ = await (try await stage.accept()).close(CloseFrame(.goingAway))
        _ = await reader.next()
        _ = await reader.next()
        #expect(sight.count("errors", [("kind", "closed")]) == 0)
        await stage.pause(of: .seconds(1))
        _ = await (try await stage.accept()).close(CloseFrame(.internalError))
        _ = await reader.next()
        _ = await reader.next()
        #expect(sight.count("errors", [("kind", "closed")]) == 1)
    }

    @Test func `each socket counts in its current state, and in none after its end`() async throws {
        let (first, second) = (sight.stage(), sight.stage())
        #expect(await Sight.eventually { sight.sockets == ["connecting": 2] })
        let peer = try await first.accept()
        defer { withExtendedLifetime(peer) {} }
        await first.state { if case .connected = $0 { true } else { false } }
        #expect(sight.sockets == ["connecting": 1, "connected": 1])
        try await second.refuse()
        await second.state { if case .waiting = $0 { true } else { false } }
        #expect(sight.sockets == ["waiting": 1, "connected": 1])
        for stage in [first, second] {
            await stage.socket.close()
            await stage.state { if case .closed = $0 { true } else { false } }
        }
        #expect(sight.sockets == [:])
    }

    @Test func `a released socket counts in no state`() async {
        await Task {
            let stage = sight.stage()
            #expect(await Sight.eventually { sight.sockets == ["connecting": 1] })
            withExtendedLifetime(stage) {}
        }.value
        #expect(await Sight.eventually { sight.sockets == [:] })
    }

    @Test func `the handshake duration is measured by the session's clock`() async throws {
        let stage = sight.stage()
        let attempt = try #require(await stage.server.nextAttempt())
        stage.clock.advance(by: .milliseconds(250))
        let peer = attempt.accept()
        defer { withExtendedLifetime(peer) {} }
        await stage.state { if case .connected = $0 { true } else { false } }
        #expect(try sight.metrics.expectTimer("holdfast_client_handshake_duration").values == [250_000_000])
        #expect(stage.socket.statistics.handshakeDuration == .milliseconds(250))
    }

    @Test func `traffic is reported every ten seconds while connected, as differences, and at the end`() async throws {
        let stage = sight.stage()
        let peer = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        func send(_ count: Int) async throws {
            for _ in 0..<count {
                try await stage.socket.send(.text("12345"))
                #expect(try await peer.message() == .text("12345"))
            }
        }
        try await send(3)
        #expect(sight.count("messages_out") == 0)
        await stage.pause(of: .seconds(10))
        #expect(await Sight.eventually { sight.count("messages_out") == 3 })
        #expect(sight.count("bytes_out") == 15 && sight.count("payload_bytes_out") == 15)
        try await send(2)
        await stage.pause(of: .seconds(10))
        #expect(await Sight.eventually { sight.count("messages_out") == 5 })
        try await send(1)
        peer.cut()
        await stage.state { if case .waiting = $0 { true } else { false } }
        #expect(sight.count("messages_out") == 6 && sight.count("bytes_out") == 30)
        #expect(sight.count("messages_in") == 0)
    }

    @Test func `the next connection's traffic is added to the last one's`() async throws {
        let stage = sight.stage()
        var reader = stage.eventReader()
        for _ in 1...2 {
            let peer = try await stage.accept()
            try await peer.send(.binary([1, 2, 3]))
            #expect(await reader.next() == .opened)
            #expect(await reader.next() == .message(.binary([1, 2, 3])))
            peer.cut()
            _ = await reader.next()
            await stage.pause(of: stage.attempts.total == 1 ? .seconds(1) : .seconds(2))
        }
        #expect(sight.count("messages_in") == 2 && sight.count("bytes_in") == 6)
    }

    @Test func `round trips, the queue's depth and its drops are reported`() async throws {
        let (one, other) = (sight.stage(), sight.stage())
        let (first, second) = (one.socket.session.instruments, other.socket.session.instruments)
        for milliseconds in [3, 5] { first.roundTrip(.milliseconds(milliseconds)) }
        #expect(try sight.metrics.expectTimer("holdfast_client_rtt").values == [3_000_000, 5_000_000])
        first.queued(count: 7, bytes: 700)
        second.queued(count: 2, bytes: 20)
        #expect(sight.meter("queue_depth") == 9)
        first.queued(count: 1, bytes: 10)
        #expect(sight.meter("queue_depth") == 3)
        first.dropped(4)
        second.dropped()
        #expect(sight.count("queue_dropped") == 5)
    }

    @Test func `a session without metrics, logs and traces does no observation work`() {
        #expect(!Instruments(WebSocketOptions(), clock: ManualClock()).isWatched)
        var options = WebSocketOptions()
        options.metrics = TestMetrics()
        #expect(Instruments(options, clock: ManualClock()).isWatched)
    }

    @Test func `a peer cannot create an unlimited number of metric series`() async throws {
        let stage = sight.stage()
        var reader = stage.eventReader()
        func waitForRetry() async {
            while let event = await reader.next() {
                guard case .reconnecting(_, let delay, _) = event else { continue }
                return await stage.pause(of: delay)
            }
        }
        for number in 3101...3127 as ClosedRange<UInt16> {
            _ = await (try await stage.accept()).close(CloseFrame(CloseCode(rawValue: number), reason: "\(number)"))
            await waitForRetry()
        }
        for status in 506...520 {
            try await stage.refuse(.refused(status))
            await waitForRetry()
        }
        let series = sight.metrics.counters.map { "\($0.label) \($0.dimensions)" }
        #expect(Set(series).count == series.count && series.count < 19)
        #expect(sight.count("errors", [("kind", "closed")]) == 27)
    }
}
