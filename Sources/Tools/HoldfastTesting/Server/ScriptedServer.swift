#if SwiftNIO
    import Holdfast
    import WebSocketRuntime
    import NIOCore
    import NIOPosix

    /// A real WebSocket server on this machine that follows a script, correct or faulty, and records what it receives.
    ///
    /// ```swift
    /// let server = try await ScriptedServer.start(
    ///     [.expect("subscribe"), .send("101"), .drop(.rst)],
    ///     [.refuse(status: 503, retryAfter: .seconds(1))],
    ///     [.expect("subscribe"), .send("102"), .close()])
    /// let socket = WebSocket(server.url)
    /// try await server.played(3)
    /// ```
    /// The first connection gets the first script, the second connection the second, and so on; the last script serves all further ones.
    /// The server never negotiates compression. No wait is longer than the server's patience.
    public final class ScriptedServer: Sendable {
        private struct State {
            var visits: [ScriptedVisit] = []
            var channels: [ObjectIdentifier: any Channel] = [:]
            var players: [Task<Void, Never>] = []
            var waiters: [(count: Int, outcome: LinkOutcome<Bool>)] = []
            var isStopped = false

            /// Whether the scripts of the first connections have ended.
            func isPlayed(_ count: Int) -> Bool { visits.count >= count && visits.prefix(count).allSatisfy(\.isPlayed) }
        }
        private let listener: any Channel
        private let state: LockedValue<State>
        private let patience: Duration

        /// The port on 127.0.0.1 that the server listens on.
        public let port: Int

        /// The URL to connect to, such as `ws://127.0.0.1:49152/`.
        public var url: String { "ws://127.0.0.1:\(port)/" }

        /// Starts a server on a free port of 127.0.0.1.
        ///
        /// - Parameters:
        ///   - scripts: One script for each connection; the last one also serves all further ones. Without a script, the server accepts and
        ///   answers pings and a close.
        ///   - patience: The timeout of expectations and of everything else that depends on the client.
        ///   - clock: The clock that measures ``ServerStep/wait(_:)``.
        /// - Throws: `IOError` if the server cannot listen.
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
                        let notify: @Sendable ((inout ScriptedVisit) -> Void) -> Void = { note(number, in: state, $0) }
                        let handler = ScriptedLineHandler(on: channel.eventLoop, notify)
                        try channel.pipeline.syncOperations.addHandler(handler)
                        let script = scripts.isEmpty ? [] : scripts[min(number, scripts.count) - 1]
                        let player = ScriptPlayer(
                            number: number, script: script, line: ScriptedLine(channel, handler, patience: patience),
                            sleep: { try await clock.sleep(for: $0) }, notify: notify)
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

        /// The records of all connections so far, in the order in which they came.
        public var visits: [ScriptedVisit] { state.withLockedValue({ $0.visits }) }

        /// Waits until the scripts of the first connections have ended; returns the records of these connections.
        ///
        /// - Parameter connections: The number of connections.
        /// - Throws: ``ScriptMismatch``, the first one: a client did not behave as its script expects, or a script did not end within the
        ///   server's patience.
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
                    found: playedCount < visits.count ? "a script that runs after \(patience)" : "no such connection within \(patience)")
            }
            return visits
        }

        /// Closes all connections and stops listening.
        public func stop() {
            let (channels, players) = state.withLockedValue { state in
                state.isStopped = true
                return (Array(state.channels.values), state.players)
            }
            listener.close(promise: nil)
            for channel in channels { channel.close(promise: nil) }
            for player in players { player.cancel() }
        }

        /// Registers a connection and returns its number, from 1; returns nil after `stop`.
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
