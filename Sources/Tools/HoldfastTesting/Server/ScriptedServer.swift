#if SwiftNIO
    import Holdfast
    import WebSocketRuntime
    import NIOCore
    import NIOPosix

    /// A real WebSocket server on this machine that does what a script says, right or wrong, and records what it hears.
    ///
    /// ```swift
    /// let server = try await ScriptedServer.start(
    ///     [.expect("subscribe"), .send("101"), .drop(.rst)],
    ///     [.refuse(status: 503, retryAfter: .seconds(1))],
    ///     [.expect("subscribe"), .send("102"), .close()])
    /// let socket = WebSocket(server.url)
    /// try await server.played(3)
    /// ```
    /// The first connection gets the first script, the second the next; the last script serves all further ones. Compression is never agreed.
    /// No wait is longer than the server's patience.
    public final class ScriptedServer: Sendable {
        private struct State {
            var visits: [ScriptedVisit] = []
            var channels: [ObjectIdentifier: any Channel] = [:]
            var players: [Task<Void, Never>] = []
            var waiters: [(count: Int, outcome: LinkOutcome<Bool>)] = []
            var isStopped = false

            /// Whether the scripts of the first connections have come to their end.
            func isPlayed(_ count: Int) -> Bool { visits.count >= count && visits.prefix(count).allSatisfy(\.isPlayed) }
        }
        private let listener: any Channel
        private let state: LockedValue<State>
        private let patience: Duration

        /// The port on 127.0.0.1 it listens on.
        public let port: Int

        /// Where to connect to, such as `ws://127.0.0.1:49152/`.
        public var url: String { "ws://127.0.0.1:\(port)/" }

        /// Starts to listen on a free port of 127.0.0.1.
        ///
        /// - Parameters:
        ///   - scripts: What to do with each connection, the last one with all further ones; none accepts, and answers pings and a close.
        ///   - patience: How long an expectation waits, and anything else that depends on the client.
        ///   - clock: What ``ServerStep/wait(_:)`` is measured with.
        /// - Throws: `IOError` if it cannot listen.
        public static func start<C: Clock>(
            _ scripts: ServerScript..., patience: Duration = .seconds(30), clock: C = ContinuousClock()
        ) async throws -> ScriptedServer where C.Duration == Duration {
            let state = LockedValue(State())
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.autoRead, value: false)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        guard let number = admit(channel, in: state) else { return channel.close(promise: nil) }
                        let tell: @Sendable ((inout ScriptedVisit) -> Void) -> Void = { note(number, in: state, $0) }
                        let handler = ScriptedLineHandler(on: channel.eventLoop, tell)
                        try channel.pipeline.syncOperations.addHandler(handler)
                        let script = scripts.isEmpty ? [] : scripts[min(number, scripts.count) - 1]
                        let player = ScriptPlayer(
                            number: number, script: script, line: ScriptedLine(channel, handler, patience: patience),
                            sleep: { try await clock.sleep(for: $0) }, tell: tell)
                        // SAFETY: ends with its connection, as all its waits do, or when `stop` cancels it.
                        let task = Task { await player.play() }
                        state.withLockedValue { $0.players.append(task) }
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            return ScriptedServer(listener, state, patience)
        }

        private init(_ listener: any Channel, _ state: LockedValue<State>, _ patience: Duration) {
            (self.listener, self.state, self.patience) = (listener, state, patience)
            port = listener.localAddress?.port ?? 0
        }

        deinit { stop() }

        /// What is known of each connection so far, in the order in which they came.
        public var visits: [ScriptedVisit] { state.withLockedValue(\.visits) }

        /// Waits until the scripts of the first connections have come to their end; returns what is known of these.
        ///
        /// - Parameter connections: How many of them.
        /// - Throws: ``ScriptMismatch``, the first one there is: a client did not do what its script expects, or a script did not come to
        ///   its end within the server's patience.
        @discardableResult
        public func played(_ connections: Int = 1) async throws(ScriptMismatch) -> [ScriptedVisit] {
            let outcome = LinkOutcome<Bool>()
            let isPlayed = state.withLockedValue { state in
                if !state.isPlayed(connections) { state.waiters.append((connections, outcome)) }
                return state.isPlayed(connections)
            }
            if !isPlayed {
                let alarm = listener.eventLoop.scheduleTask(in: TimeAmount(patience)) { outcome.settle(false) }
                _ = await outcome.wait()
                alarm.cancel()
                state.withLockedValue { $0.waiters.removeAll { $0.outcome === outcome } }
            }
            let visits = Array(visits.prefix(connections))
            for mismatch in visits.compactMap(\.mismatch) { throw mismatch }
            let playedCount = visits.prefix { $0.isPlayed }.count
            guard playedCount == connections else {
                throw ScriptMismatch(
                    connection: playedCount + 1, step: 0, expected: "the end of its script",
                    found: playedCount < visits.count ? "that it goes on after \(patience)" : "no such connection within \(patience)")
            }
            return visits
        }

        /// Hangs up on everybody and stops to listen.
        public func stop() {
            let (channels, players) = state.withLockedValue { state in
                state.isStopped = true
                return (Array(state.channels.values), state.players)
            }
            listener.close(promise: nil)
            for channel in channels { channel.close(promise: nil) }
            for player in players { player.cancel() }
        }

        /// The connection's number, from 1; nil once stopped.
        private static func admit(_ channel: any Channel, in state: LockedValue<State>) -> Int? {
            let id = ObjectIdentifier(channel)
            channel.closeFuture.whenComplete { _ in
                state.withLockedValue { $0.channels[id] = nil }
            }
            return state.withLockedValue { state in
                guard !state.isStopped else { return nil }
                state.channels[id] = channel
                state.visits.append(ScriptedVisit())
                return state.visits.count
            }
        }

        private static func note(_ number: Int, in state: LockedValue<State>, _ body: (inout ScriptedVisit) -> Void) {
            let outcomes = state.withLockedValue { state in
                body(&state.visits[number - 1])
                return state.waiters.filter { state.isPlayed($0.count) }.map(\.outcome)
            }
            for outcome in outcomes { outcome.settle(true) }
        }
    }
#endif
