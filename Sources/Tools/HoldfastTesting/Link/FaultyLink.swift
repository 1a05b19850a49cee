#if SwiftNIO
    import NIOCore
    import NIOPosix
    import WebSocketRuntime

    /// A local TCP relay with faults on demand: put it between a client and a server to cut, stall, slow down or refuse connections.
    ///
    /// ```swift
    /// let link = try await FaultyLink.start(to: server.port)
    /// let socket = WebSocket("ws://127.0.0.1:\(link.port)/")
    /// link.cut()
    /// ```
    /// The link reads from one side no faster than the other side or a throttle accepts. So it holds at most 256 KiB plus the last read
    /// for each direction of a connection, and it passes back-pressure through. It never sends anything twice and never changes the
    /// bytes.
    ///
    /// Faults can be applied one by one, or with a ``FaultScript`` that ``follow(_:seed:clock:telling:)`` plays.
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

        /// Starts a relay to a port.
        ///
        /// - Parameters:
        ///   - port: The port that the server listens on.
        ///   - host: The server's name or address.
        ///   - listeningPort: The port of 127.0.0.1 to listen on; 0 for a free one.
        ///   - seed: The seed for faults with a range, such as a delay with jitter.
        /// - Throws: `IOError` if the relay cannot listen on the port.
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

        /// The number of connection attempts so far, including refused ones.
        public var accepted: Int { state.withLockedValue({ $0.accepted }) }

        /// Returns how many bytes the link has forwarded so far, in one direction or in both together.
        public func carried(_ directions: LinkDirections = .both) -> Int {
            [LinkDirections.up, .down].filter(directions.contains).map(conditions.carried).reduce(0, +)
        }

        /// Closes every connection and stops listening, for good.
        public func stop() async throws {
            state.withLockedValue { $0.isStopped = true }
            try await closePort()
            cut()
        }

        /// Closes the port: the operating system refuses new connections, and open ones stay.
        ///
        /// Another program may take the port in the meantime.
        public func closePort() async throws {
            try await state.withLockedValue { $0.listener.take() }?.close()
        }

        /// Listens again on the same port; does nothing if the port is open or the link was stopped.
        ///
        /// - Throws: `IOError` if another program has taken the port in the meantime.
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

        /// The time that bytes take from one side to the other, in each direction; zero by default.
        ///
        /// A change applies to bytes that are sent from then on. If ``delay`` is a range, this is its lower bound.
        public var latency: Duration {
            get { delay.lowerBound }
            set { delay = newValue...newValue }
        }

        /// The range of the delay in each direction, drawn anew for every piece that is read; zero by default.
        ///
        /// Bytes keep their order. A change applies to bytes that are sent from then on.
        public var delay: ClosedRange<Duration> {
            get { conditions.present.delay }
            set {
                let range = newValue.clamped(to: .zero...FaultLimits.longest)
                conditions.change { $0.delay = range }
            }
        }

        /// Cuts every connection at once and loses the bytes in transit; new connections are accepted.
        public func cut(_ ending: LinkEnding = .fin) {
            state.withLockedValue { Array($0.channels.values) }.hangUp(ending)
        }

        /// Cuts each connection after it has carried a number of bytes from this range, both directions together; nil for no limit.
        ///
        /// The link draws the number for each connection. For open connections, it counts from now.
        public func cut(after bytes: ClosedRange<Int>?, _ ending: LinkEnding = .fin) {
            conditions.limit(bytes?.clamped(to: 1 ... .max), ending)
        }

        /// Forwards nothing from now on, in both directions, and closes nothing: a link without a signal.
        ///
        /// Neither side notices, not even when the other closes. New connections are accepted and stalled as well. Nothing is lost. The
        /// link reads little, so a side that keeps sending has to wait.
        public func stall() { conditions.change { $0.isStalled = true } }

        /// Reads everything from now on and forwards nothing in these directions: a half-open link.
        ///
        /// The receiving side gets nothing, not even the close of the sending side. New connections are accepted, and what they send is
        /// dropped as well. A connection that has lost bytes forwards nothing more in that direction even after ``resume()``, until one
        /// of its sides closes it.
        public func swallow(_ directions: LinkDirections = .both) { conditions.change { $0.swallowed = directions } }

        /// Forwards everything again, including the bytes that waited; dropped bytes stay lost.
        public func resume() {
            conditions.change { ($0.isStalled, $0.swallowed) = (false, []) }
        }

        /// Limits the rate in each of these directions to so many bytes per second, all connections together; nil for no limit.
        ///
        /// The rate is between one byte and 10 GiB per second. A faster sender has to wait: the system's buffers fill up, not the link's.
        public func throttle(_ directions: LinkDirections = .both, to bytesPerSecond: Int?) {
            conditions.throttle(directions, to: bytesPerSecond)
        }

        /// Accepts each new connection and closes it at once, from now on.
        public func refuse() { state.withLockedValue { $0.isRefusing = true } }

        /// Serves new connections again.
        public func welcome() { state.withLockedValue { $0.isRefusing = false } }

        /// Ends every fault; connections that were cut stay closed.
        ///
        /// - Throws: `IOError` if another program has taken the port that was closed.
        public func heal() async throws {
            resume()
            welcome()
            delay = .zero ... .zero
            throttle(to: nil)
            cut(after: nil)
            try await openPort()
        }

        /// Begins a fault; a lasting fault stays active until ``lift(_:)``.
        ///
        /// - Throws: `IOError`, only for ``Fault/heal``, if another program has taken the port that was closed.
        public func apply(_ fault: Fault) async throws {
            switch fault {
            case .cut(let ending): cut(ending)
            case .cutAfter(let bytes, let ending): cut(after: bytes, ending)
            case .stall: stall()
            case .swallow(let directions): conditions.change { $0.swallowed.formUnion(directions) }
            case .refuse: refuse()
            case .close: try await closePort()
            case .throttle(let rate, let directions): throttle(directions, to: rate)
            case .delay(let range): delay = range
            case .heal: try await heal()
            }
        }

        /// Ends a fault; does nothing for a fault that takes effect once.
        ///
        /// - Throws: `IOError`, only for ``Fault/close``, if another program has taken the port in the meantime.
        public func lift(_ fault: Fault) async throws {
            switch fault {
            case .cut, .heal: break
            case .cutAfter: cut(after: nil)
            case .stall: conditions.change { $0.isStalled = false }
            case .swallow(let directions): conditions.change { $0.swallowed.subtract(directions) }
            case .refuse: welcome()
            case .close: try await openPort()
            case .throttle(_, let directions): throttle(directions, to: nil)
            case .delay: delay = .zero ... .zero
            }
        }

        /// Plays a script until its last step or until the task is cancelled; faults that are active then stay active.
        ///
        /// ```swift
        /// try await link.follow(FaultScript("every 5s..9s cut; at 20s stall 8s"), seed: 1)
        /// ```
        /// - Parameters:
        ///   - script: The faults and their times, counted from this call.
        ///   - seed: The seed for all random choices; the same seed gives the same faults.
        ///   - clock: The clock that measures the times. With a ``ManualClock``, the test decides when the next fault comes.
        ///   - notify: Called after each fault was applied; the next fault waits until it returns.
        /// - Throws: `CancellationError` when cancelled; `IOError` if another program has taken the port that was closed.
        public func follow<C: Clock>(
            _ script: FaultScript, seed: UInt64, clock: C = ContinuousClock(), telling notify: (PlannedFault) async -> Void = { _ in }
        ) async throws where C.Duration == Duration {
            conditions.reseed(seed)
            let start = clock.now
            for planned in FaultPlan(script, seed: seed) {
                let moment = start.advanced(by: planned.time)
                if clock.now < moment { try await clock.sleep(until: moment, tolerance: nil) }
                try Task.checkCancellation()
                if planned.isEnd { try await lift(planned.fault) } else { try await apply(planned.fault) }
                await notify(planned)
            }
        }
    }
#endif
