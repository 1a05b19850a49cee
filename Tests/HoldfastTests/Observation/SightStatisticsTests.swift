import HoldfastTesting
import Testing

@testable import Holdfast

/// The statistics of a socket.
@Suite(.timeLimit(.minutes(1))) struct SightStatisticsTests {
    @Test func `before anything has happened the statistics are empty`() async {
        let stage = Stage()
        let statistics = stage.socket.statistics
        #expect(statistics.connections == 0 && statistics.openedAt == nil && statistics.handshakeDuration == nil)
        #expect(statistics.traffic == LinkTraffic() && statistics.traffic.compressionRatio == nil)
        #expect(statistics.roundTrips.count == 0 && statistics.roundTrips.p50 == nil && statistics.roundTrips.max == nil)
    }

    @Test func `attempts, connections, losses and failures are counted over the whole life`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        try await stage.refuse()
        _ = await reader.next()
        await stage.pause()
        let before = ContinuousClock.now
        try await stage.accept().cut()
        for _ in 1...2 { _ = await reader.next() }
        await stage.pause()
        _ = await (try await stage.accept()).close(CloseFrame(.goingAway))
        for _ in 1...2 { _ = await reader.next() }
        let statistics = stage.socket.statistics
        #expect(statistics.attempts == 3 && statistics.connections == 2)
        #expect(statistics.failures == [.unreachable: 1])
        #expect(statistics.losses == [.lost: 1, .closed: 1])
        #expect(try #require(statistics.openedAt) >= before)
        guard case .waiting = statistics.state else { return #expect(Bool(false), "\(statistics.state)") }
    }

    @Test func `an end that this side wanted is neither a loss nor a failure`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        defer { withExtendedLifetime(peer) {} }
        await stage.state { if case .connected = $0 { true } else { false } }
        await stage.socket.close()
        await stage.state { if case .closed = $0 { true } else { false } }
        #expect(stage.socket.statistics.losses.isEmpty && stage.socket.statistics.failures.isEmpty)
    }

    @Test func `traffic is counted for all connections, and for the current or last one`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        for number in 1...2 {
            let peer = try await stage.accept()
            for _ in 1...number { try await peer.send(.text("hello")) }
            #expect(await reader.next() == .opened)
            for _ in 1...number { _ = await reader.next() }
            let statistics = stage.socket.statistics
            #expect(statistics.connectionTraffic == LinkTraffic(bytesIn: 5 * number, messagesIn: number, payloadIn: 5 * number))
            #expect(statistics.traffic.messagesIn == (number == 1 ? 1 : 3))
            peer.cut()
            _ = await reader.next()
            #expect(stage.socket.statistics.connectionTraffic.messagesIn == number)
            await stage.pause()
        }
    }

    @Test func `the queue and the round trips are those that the session recorded`() throws {
        let stage = Stage()
        let instruments = stage.socket.session.instruments
        instruments.queued(count: 3, bytes: 300)
        instruments.dropped(2)
        for milliseconds in 1...100 { instruments.roundTrip(.milliseconds(milliseconds)) }
        let statistics = stage.socket.statistics
        #expect((statistics.queueDepth, statistics.queueBytes, statistics.dropped) == (3, 300, 2))
        let trips = statistics.roundTrips
        #expect(trips.count == 100 && trips.max == .milliseconds(100))
        for (percentile, milliseconds) in [(trips.p50, 50), (trips.p95, 95), (trips.p99, 99)] {
            let value = try #require(percentile)
            #expect(value >= .milliseconds(milliseconds) && value <= .milliseconds(milliseconds) * 33 / 32)
        }
    }
}
