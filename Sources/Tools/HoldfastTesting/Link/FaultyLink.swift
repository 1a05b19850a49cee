#if SwiftNIO
    import NIOCore
    import NIOPosix
    import WebSocketRuntime

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

        /// How long bytes take from one side to the other, each way; by default no time.
        ///
        /// A change counts for what is sent from then on. With a ``delay`` that is drawn by chance, this is its least.
        public var latency: Duration {
            get { delay.lowerBound }
            set { delay = newValue...newValue }
        }

        /// How long bytes take from one side to the other, each way, drawn anew for every piece that is read; by default no time.
        ///
        /// Nothing overtakes what was sent before. A change counts for what is sent from then on.
        public var delay: ClosedRange<Duration> {
            get { conditions.present.delay }
            set {
                let range = newValue.clamped(to: .zero...FaultLimits.longest)
                conditions.change { $0.delay = range }
            }
        }

        /// Breaks every connection at once, what is under way is lost; new ones are welcome.
        public func cut(_ ending: LinkEnding = .fin) {
            state.withLockedValue { Array($0.channels.values) }.hangUp(ending)
        }

        /// Breaks every connection once it has carried some of these many bytes, both ways counted together; nil for no limit.
        ///
        /// How many is drawn for each connection. For those that are open, it counts from now.
        public func cut(after bytes: ClosedRange<Int>?, _ ending: LinkEnding = .fin) {
            conditions.limit(bytes?.clamped(to: 1 ... .max), ending)
        }

        /// Passes nothing on from now, in both directions, and breaks nothing: a link without a signal.
        ///
        /// Neither side hears of it, not even when the other goes away. New connections are taken, and stalled as well. Nothing is lost, and
        /// little is taken: whoever sends on, has to wait.
        public func stall() { conditions.change { $0.isStalled = true } }

        /// Takes everything from now and passes nothing on in these directions: a half-open link.
        ///
        /// The other side hears nothing, not even that this one goes away. New connections are taken, and what they send is swallowed as well.
        /// A connection that has lost something stays deaf in that direction after ``resume()``, until one of its sides ends it.
        public func swallow(_ directions: LinkDirections = .both) { conditions.change { $0.swallowed = directions } }

        /// Passes everything on again, and what had waited; what was swallowed is lost.
        public func resume() {
            conditions.change { ($0.isStalled, $0.swallowed) = (false, []) }
        }

        /// Lets no more bytes a second pass, all connections together, in each of these directions; nil for no limit.
        ///
        /// At most 10 GiB a second, at least one byte. Whoever sends faster has to wait: the system's buffers fill, the link's do not.
        public func throttle(_ directions: LinkDirections = .both, to bytesPerSecond: Int?) {
            conditions.throttle(directions, to: bytesPerSecond)
        }

        /// Hangs up on whoever connects from now on.
        public func refuse() { state.withLockedValue { $0.isRefusing = true } }

        /// Welcomes new connections again.
        public func welcome() { state.withLockedValue { $0.isRefusing = false } }

        /// Ends every fault; what is broken stays broken.
        ///
        /// - Throws: `IOError` if somebody else has taken the port that was closed.
        public func heal() async throws {
            resume()
            welcome()
            delay = .zero ... .zero
            throttle(to: nil)
            cut(after: nil)
            try await openPort()
        }

        /// Lets a fault begin; those that last hold until ``lift(_:)``.
        ///
        /// - Throws: `IOError`, for ``Fault/heal`` alone, if somebody else has taken the port that was closed.
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

        /// Ends a fault; nothing happens for one that is over at once.
        ///
        /// - Throws: `IOError`, for ``Fault/close`` alone, if somebody else has taken the port meanwhile.
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

        /// Plays a script, until its last step or until the task is cancelled; what holds then, goes on holding.
        ///
        /// ```swift
        /// try await link.follow(FaultScript("every 5s..9s cut; at 20s stall 8s"), seed: 1)
        /// ```
        /// - Parameters:
        ///   - script: What to do, and when; counted from this call.
        ///   - seed: Decides whatever the script leaves open; the same seed, the same faults.
        ///   - clock: What the times are measured with: a ``ManualClock``, and the test says when the next fault comes.
        ///   - tell: Called with each fault once it was done; the next one waits for it.
        /// - Throws: `CancellationError` when cancelled; `IOError` if somebody else has taken the port that was closed.
        public func follow<C: Clock>(
            _ script: FaultScript, seed: UInt64, clock: C = ContinuousClock(), telling tell: (PlannedFault) async -> Void = { _ in }
        ) async throws where C.Duration == Duration {
            conditions.reseed(seed)
            let start = clock.now
            for planned in FaultPlan(script, seed: seed) {
                let moment = start.advanced(by: planned.time)
                if clock.now < moment { try await clock.sleep(until: moment, tolerance: nil) }
                try Task.checkCancellation()
                if planned.isEnd { try await lift(planned.fault) } else { try await apply(planned.fault) }
                await tell(planned)
            }
        }
    }
#endif
