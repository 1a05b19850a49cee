#if SwiftNIO
    import WebSocketRuntime
    import NIOCore
    import NIOPosix

    /// A TCP relay on this machine that misbehaves on demand: put it between a client and a server, and cut, stall, slow or refuse.
    ///
    /// ```swift
    /// let link = try await FaultyLink.start(to: server.port)
    /// let socket = WebSocket("ws://127.0.0.1:\(link.port)/")
    /// link.cut()
    /// ```
    /// What one side sends is read no faster than the other side or a throttle takes it, so the link holds at most 256 KiB and what was read
    /// last for each direction of a connection, and back-pressure passes through. Nothing is ever sent twice, and nothing changed.
    ///
    /// Faults can be given one by one, or as a ``FaultScript`` that ``follow(_:seed:clock:telling:)`` plays.
    public final class FaultyLink: Sendable {
        struct State {
            var listener: (any Channel)?
            var channels: [ObjectIdentifier: any Channel] = [:]
            var isRefusing = false
            var isStopped = false
            var accepted = 0
        }
        let state: LockedValue<State>
        let conditions: LinkConditions
        private let target: (host: String, port: Int)

        /// The port on 127.0.0.1 to connect to.
        public let port: Int

        /// Starts to relay to a port.
        ///
        /// - Parameters:
        ///   - port: Where the server listens.
        ///   - host: The server's name or address.
        ///   - listeningPort: The port of 127.0.0.1 to listen on; 0 for a free one.
        ///   - seed: Where the chance in faults with a range starts, such as a delay with jitter.
        /// - Throws: `IOError` if it cannot listen there.
        public static func start(
            to port: Int, host: String = "127.0.0.1", listeningOn listeningPort: Int = 0, seed: UInt64 = 0
        ) async throws -> FaultyLink {
            let (state, conditions) = (LockedValue(State()), LinkConditions(seed: seed))
            let listener = try await listen(on: listeningPort, to: (host, port), state, conditions)
            state.withLockedValue { $0.listener = listener }
            return FaultyLink(listener.localAddress?.port ?? 0, (host, port), state, conditions)
        }

        private init(_ port: Int, _ target: (host: String, port: Int), _ state: LockedValue<State>, _ conditions: LinkConditions) {
            (self.port, self.target, self.state, self.conditions) = (port, target, state, conditions)
        }

        deinit {
            state.withLockedValue { $0.listener.take() }?.close(promise: nil)
            cut()
        }

        /// How many connections were tried so far, those included that were refused.
        public var accepted: Int { state.withLockedValue(\.accepted) }

        /// How many bytes were passed on so far, in one direction or in both together.
        public func carried(_ directions: LinkDirections = .both) -> Int {
            [LinkDirections.up, .down].filter(directions.contains).map(conditions.carried).reduce(0, +)
        }

        /// Breaks everything and stops to listen, for good.
        public func stop() async throws {
            state.withLockedValue { $0.isStopped = true }
            try await closePort()
            cut()
        }

        /// Closes the port: the system refuses whoever connects; what is open stays.
        ///
        /// Another program may take the port meanwhile.
        public func closePort() async throws {
            try await state.withLockedValue { $0.listener.take() }?.close()
        }

        /// Listens again on the same port; nothing happens if it is open or the link was stopped.
        ///
        /// - Throws: `IOError` if somebody else has taken the port meanwhile.
        public func openPort() async throws {
            guard state.withLockedValue({ $0.listener == nil && !$0.isStopped }) else { return }
            let listener = try await Self.listen(on: port, to: target, state, conditions)
            let isWanted = state.withLockedValue { state in
                guard state.listener == nil, !state.isStopped else { return false }
                state.listener = listener
                return true
            }
            if !isWanted { try await listener.close() }
        }

        private static func listen(
            on port: Int, to target: (host: String, port: Int), _ state: LockedValue<State>, _ conditions: LinkConditions
        ) async throws -> any Channel {
            try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.autoRead, value: false)
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { near in
                    guard welcome(near, in: state) else { return near.close() }
                    return ClientBootstrap(group: near.eventLoop)
                        .channelOption(.autoRead, value: false)
                        .channelOption(.allowRemoteHalfClosure, value: true)
                        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                        .connect(host: target.host, port: target.port)
                        .flatMap { far in
                            near.eventLoop.makeCompletedFuture {
                                keep(far, in: state)
                                do {
                                    try RelayHandler.join(near, far, conditions)
                                } catch {
                                    far.close(promise: nil)  // The near side went away meanwhile.
                                    throw error
                                }
                            }
                        }
                }
                .bind(host: "127.0.0.1", port: port).get()
        }

        private static func welcome(_ channel: any Channel, in state: LockedValue<State>) -> Bool {
            let isWelcome = state.withLockedValue { state in
                state.accepted += 1
                return !state.isRefusing && !state.isStopped
            }
            if isWelcome { keep(channel, in: state) }
            return isWelcome
        }

        private static func keep(_ channel: any Channel, in state: LockedValue<State>) {
            let id = ObjectIdentifier(channel)
            state.withLockedValue { $0.channels[id] = channel }
            channel.closeFuture.whenComplete { _ in
                state.withLockedValue { $0.channels[id] = nil }
            }
        }
    }
#endif
