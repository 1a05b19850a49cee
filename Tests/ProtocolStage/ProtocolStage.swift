package import Holdfast
package import HoldfastTesting
import MachineCore
import WebSocketCore

/// The world of a protocol's client in a test: the test is the server, and only the test moves the time.
package struct ProtocolStage: Sendable {
    package let clock: ManualClock
    package let server: MemoryServer
    package let socket: WebSocket

    /// - Parameters:
    ///   - configuration: The configuration of both ends of each connection.
    ///   - timesConnections: Whether the timeouts of the connections, too, run by the clock of this stage, and not by the system's.
    ///   - prepare: Changes the options of the socket for a protocol.
    package init(
        configuration: WebSocketConfiguration = WebSocketConfiguration(), timesConnections: Bool = false,
        prepare: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        let clock = ManualClock()
        var options = WebSocketOptions()
        options.reconnect.backoff = Backoff(base: .seconds(1), jitter: .proportional(0))
        prepare(&options)
        if timesConnections {
            server = MemoryServer(configuration: configuration, clock: clock)
        } else {
            server = MemoryServer(configuration: configuration)
        }
        self.clock = clock
        socket = WebSocket(options, seed: 1, clock: clock, connect: server.connect)
    }

    /// Answers the next attempt, for which no time has to pass; returns the server's end of the connection.
    package func answer(_ subprotocol: String? = nil) async throws -> MemoryTransport {
        guard let attempt = await server.nextAttempt() else { throw CancellationError() }
        return attempt.accept(subprotocol: subprotocol)
    }

    /// Lets time pass until the client connects again, answers that attempt, and returns the server's end of the connection.
    package func answerAgain(_ subprotocol: String? = nil) async throws -> MemoryTransport {
        guard let attempt = await nextAttempt() else { throw CancellationError() }
        return attempt.accept(subprotocol: subprotocol)
    }

    /// Lets time pass until there is an attempt to connect, and no longer; returns nil if the task is cancelled.
    ///
    /// It waits until the socket has planned an attempt, and moves the clock to that moment. Move the clock yourself if time must pass
    /// before the client gives up a connection.
    package func nextAttempt() async -> MemoryServer.Attempt? {
        await withTaskGroup(of: MemoryServer.Attempt?.self) { group in
            group.addTask { await server.nextAttempt() }
            group.addTask {
                for await _ in socket.states {
                    // The session of the socket began when the clock did.
                    let pause = (socket.nextAttempt?.offset ?? .zero) - clock.now.offset
                    if pause > .zero { clock.advance(by: pause) }
                }
                return nil
            }
            defer { group.cancelAll() }
            for await attempt in group { if let attempt { return attempt } }
            return nil
        }
    }

    /// Waits until a task sleeps for this time.
    package func sleeper(of duration: Duration) async { while !Task.isCancelled, await clock.nextSleep() != duration {} }

    /// Waits until a task sleeps for this time, and lets that time pass.
    package func pass(_ duration: Duration) async { await pass(duration...duration) }

    /// Waits until a task sleeps for a time in this range, and lets that time pass.
    package func pass(_ range: ClosedRange<Duration>) async {
        var pause = await clock.nextSleep()
        while !Task.isCancelled, !range.contains(pause) { pause = await clock.nextSleep() }
        clock.advance(by: pause)
    }

    /// Gives other tasks time to begin to wait, which nothing announces.
    ///
    /// A test that relies on it checks that something does not happen, so it passes also if the time was too short.
    package static func giveWay() async { for _ in 0..<1000 { await Task.yield() } }
}

extension MemoryServer.Attempt {
    /// Accepts the connection with this subprotocol, and returns the server's end.
    package func accept(subprotocol: String?) -> MemoryTransport {
        accept(Agreement(subprotocol: subprotocol, response: ResponseHead(status: 101)))
    }
}

extension StateSequence {
    /// Waits for a state that is as wanted; only the suite's time limit ends a wait that is in vain.
    package func until(_ isWanted: (State) -> Bool) async { for await state in self where isWanted(state) { return } }
}

extension Changes {
    /// Waits until something is as wanted, which each change of it announces.
    package func until(_ isReached: () -> Bool) async { await first { isReached() ? () : nil } }
}
