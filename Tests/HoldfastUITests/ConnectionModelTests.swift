import Holdfast
import HoldfastTesting
import Observation
import Testing

@testable import HoldfastUI

@MainActor @Suite(.timeLimit(.minutes(1))) struct ConnectionModelTests {
    /// A clock that the test moves.
    private struct BadgeTime: Sendable {
        let clock = ManualClock()
        let origin = ContinuousClock.now

        var now: ContinuousClock.Instant { origin + (clock.now.offset) }
        func sleep(until instant: ContinuousClock.Instant) async throws { try await clock.sleep(for: now.duration(to: instant)) }
    }

    private func wait(for status: ConnectionStatus, in model: ConnectionModel) async {
        while model.status != status, !Task.isCancelled {
            await withCheckedContinuation { continuation in
                withObservationTracking {
                    _ = model.status
                } onChange: {
                    continuation.resume()
                }
            }
        }
    }

    @Test func `the model counts down to the next attempt and follows the connection's state`() async {
        let time = BadgeTime()
        let (states, notify) = AsyncStream.makeStream(of: WebSocketState.self)
        let model = ConnectionModel(states, now: { time.now }) { try await time.sleep(until: $0) }
        #expect(model.status == .connecting)
        notify.yield(.waiting(until: time.origin + .seconds(3), cause: nil))
        for seconds in [3, 2] {
            await wait(for: .reconnecting(seconds: seconds), in: model)
            time.clock.advance(by: await time.clock.nextSleep())
        }
        await wait(for: .reconnecting(seconds: 1), in: model)
        notify.yield(.connected(since: time.now))
        await wait(for: .connected, in: model)
        notify.yield(.held)
        await wait(for: .offline, in: model)
        notify.yield(.closed(nil))
        notify.finish()
        await wait(for: .closed(isFailure: false), in: model)
    }

    @Test func `a released model releases its socket`() async {
        let server = MemoryServer()
        var socket: WebSocket? = WebSocket(clock: ContinuousClock(), connect: server.connect)
        var model = socket.map { ConnectionModel($0) }
        let peer = await server.nextAttempt()?.accept()
        if let model { await wait(for: .connected, in: model) }
        weak let trace = model
        model = nil
        socket = nil
        #expect(trace == nil)
        _ = await peer?.ended()
    }
}
