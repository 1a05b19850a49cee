import HoldfastTesting
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(2))) struct TelemetryAdaptTests {
    private static let policy = AdaptiveRatePolicy(backlog: 2000, least: .oneOf(8), step: .oneOf(4), interval: .seconds(5))

    @Test func `when the link does not keep up, the series is thinned and the metrics show it`() async throws {
        let sight = Sight()
        let stage = sight.stage()
        let peer = try await stage.connect()
        let readings = stage.socket.numbers(count: 10) { $0.adapts = Self.policy }
        #expect(sight.meter("telemetry_kept_share") == 1)
        for number in 0..<20 { readings.record(number) }
        #expect(try await peer.values(20).count == 20)
        #expect(await telemetryEventually { readings.counts.sent == 20 })
        #expect(readings.keptShare == 1, "the link keeps up")

        peer.stall()
        var number = 20
        // The backlog exceeds 2000 bytes, and grows for three intervals.
        for _ in 0..<3 {
            for _ in 0..<4000 {
                readings.record(number)
                number += 1
            }
            stage.clock.advance(by: .seconds(5))
        }
        #expect(readings.keptShare == 0.125 && sight.meter("telemetry_kept_share") == 0.125)
        let counts = readings.counts
        #expect(counts.sampled > 1000 && counts.isWhole)

        peer.resume()
        let reading = Task { () -> [Int] in
            var values: [Int] = []
            while let batch = try await peer.batch() { values += batch }
            return values
        }
        #expect(await readings.flush())
        #expect(sight.count("telemetry_recorded") == number && sight.count("telemetry_sent") == readings.counts.sent)
        #expect(sight.count("telemetry_sampled") == readings.counts.sampled && sight.count("telemetry_dropped") == 0)

        // The share is checked each interval and rises by steps.
        #expect(
            await telemetryEventually {
                stage.clock.advance(by: .seconds(5))
                return readings.keptShare == 1
            })
        #expect(sight.meter("telemetry_kept_share") == 1)
        await stage.socket.close()
        #expect(try await reading.value.last == number - 1, "the last value of the series arrives")
    }

    @Test func `a long round trip thins the series too`() async throws {
        let stage = Stage()
        _ = try await stage.connect()
        let readings = stage.socket.numbers { $0.adapts = Self.policy }
        stage.socket.session.noteRoundTrip(.milliseconds(100), isAutomatic: false, generation: 1)
        #expect(readings.keptShare == 1)
        stage.socket.session.noteRoundTrip(.seconds(2), isAutomatic: false, generation: 1)
        #expect(readings.keptShare == 0.5)
    }

    @Test func `without a policy values are dropped only when the buffer is full`() async throws {
        let stage = Stage()
        let readings = stage.socket.numbers { $0.batch.capacity = 100 }
        for number in 0..<5000 { readings.record(number) }
        stage.socket.session.noteRoundTrip(.seconds(20), isAutomatic: false, generation: 1)
        #expect(readings.keptShare == 1 && readings.counts.sampled == 0 && readings.counts.dropped == 4900)
    }
}
