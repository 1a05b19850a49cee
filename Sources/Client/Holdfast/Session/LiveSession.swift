import MachineCore
import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Runs the `Session` of a ``WebSocket``: performs its effects and delivers events in order.
actor LiveSession {
    /// The next item for the consumer: an event, or a connection whose messages come next.
    enum Source {
        case event(WebSocketEvent)
        case connection(WebSocketConnection)
    }
    /// An attempt and the connection that it opened.
    struct Link {
        let task: Task<Void, Never>
        /// The credential that the server received.
        var credential: Credential?
        var connection: WebSocketConnection?
        var target: SendTarget?
        /// Whether the session has ordered its end; its outcome is then not reported.
        var isForgotten = false
        /// Whether the consumers were told of it.
        var isShown = false
        /// Set if it was closed to be replaced: the minimum delay before the next connection.
        var pause: Duration?
    }
    private typealias CloseReason = (code: CloseCode, reason: String)
    private static let background: CloseReason = (.goingAway, "")
    private static let handedOver: CloseReason = (.normal, "a newer connection has taken over")
    /// The number of lost connections with unread messages at which the session opens no further connection.
    static let backlogLimit = 8

    let connect: @Sendable (WebSocketAttempt) async throws(WebSocketError) -> WebSocketConnection
    let provider: CredentialProvider.Answer?
    let losses: LossTable
    let sendDriver: SendDriver
    /// The senders that hold values back to send them later.
    nonisolated let held = HeldSends()
    /// How many updates of the app's state were received.
    var lifeNews = 0
    nonisolated let instruments: Instruments
    let sleep: @Sendable (Duration) async throws -> Void
    let changes = Changes()
    /// The state, its version, which counts the changes, and when the next attempt starts, if the session waits for that.
    private let observed = LockedValue((state: WebSocketState.disconnected(nil), version: UInt64(0), nextAttempt: Moment?.none))
    private var sources = EventBacklog()
    var links: [UInt64: Link] = [:]
    /// The newest connection.
    var connection: WebSocketConnection?
    /// Why the last attempt or connection ended; nil once there is another connection.
    var lastCause: WebSocketError?
    /// Why the session ended for good; nil before that, and if this side closed it.
    private(set) var endCause: WebSocketError?
    /// The close record of the last connection, until another attempt starts.
    var lastRecord: CloseRecord?
    /// The last lost connection and its generation.
    var lastLost: (transport: ObjectIdentifier, generation: UInt64)?
    /// The number of protocols that run over the socket.
    nonisolated let protocols = LockedValue(0)
    var outage = Outage()
    var credential: Credential?
    /// The authentication challenges of the server if it refused the last attempt with 401.
    var challenges: [AuthenticationChallenge] = []
    /// Whether the last loss says that the server rejected the credential.
    var isRefused = false
    /// The credential of the last lost attempt or connection.
    var lostCredential: Credential?
    private var fetch: Task<Void, Never>?
    private(set) var notify: (@Sendable (Session.Input) async -> Void)?
    /// The message that a connection is taking now.
    var inHand: (id: UInt64, task: Task<Void, Never>)?
    var hasEndedSending = false
    /// The inputs that arrived before the session ran.
    private var early: [Session.Input] = []
    private var closeReason: CloseReason = (.normal, "")
    private(set) var isStopping = false
    private(set) var isClosed = false

    init(
        connect: @escaping @Sendable (WebSocketAttempt) async throws(WebSocketError) -> WebSocketConnection,
        connectsAtOnce: Bool, provider: CredentialProvider.Answer?, losses: LossTable, sending: SendPolicy, instruments: Instruments,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        (self.connect, self.provider, self.losses, self.sleep) = (connect, provider, losses, sleep)
        (sendDriver, self.instruments) = (SendDriver(sending), instruments)
        early = connectsAtOnce ? [] : [.disconnect]
    }

    nonisolated var latest: (state: WebSocketState, version: UInt64) { observed.withLockedValue { ($0.state, $0.version) } }
    nonisolated var nextAttempt: Moment? { observed.withLockedValue({ $0.nextAttempt }) }

    /// Runs until the session is closed or the task is cancelled.
    func run<C: Clock>(_ session: Session, clock: C) async where C.Duration == Duration {
        let (orders, continuation) = AsyncStream.makeStream(of: (Session.Effect, Moment, DroppedSend?).self)
        let driver = Driver(session, clock: clock) { [sendDriver] in continuation.yield(($0, $1, sendDriver.handle($0))) }
        notify = { await driver.handle($0) }
        changes.announce()
        for input in early { await driver.handle(input) }
        let isWanted = early.last { [.start, .reconnectNow, .disconnect].contains($0) } != .disconnect
        if isStopping { await driver.handle(.close) } else if isWanted { await driver.handle(.start) }
        for await (effect, moment, dropped) in orders {
            if let dropped {
                instruments.dropped()
                add(.dropped(dropped))
            }
            perform(effect, at: moment)
            if isClosed { break }
        }
        fetch?.cancel()
        endSending()
        for link in links.values {
            link.task.cancel()
            link.connection?.abort()
        }
        end(with: nil)
    }

    /// Passes an input to the session, or keeps it until the session runs.
    func note(_ input: Session.Input) async {
        if case .life(let life) = input, !(await isReady(for: life)) { return }
        if let notify { await notify(input) } else { early.append(input) }
    }

    /// Closes the session for good.
    func close(code: CloseCode, reason: String) async {
        await closeHeld()
        isStopping = true
        closeReason = (code, reason)
        if !isClosed { show(.closing) }
        await finishSending()
        // Connections that the session has already left may still have something to send.
        let leaving = links.values.compactMap { $0.isForgotten ? $0.connection : nil }
        if let connection { lastRecord = await connection.close(code: code, reason: reason) }
        for connection in leaving { await connection.close(code: code, reason: reason) }
        await notify?(.close)
    }

    /// Closes the connection but not the session; the app may connect again.
    func disconnect(code: CloseCode, reason: String) async {
        guard !isStopping, !isClosed else { return }
        (closeReason, lastCause) = ((code, reason), nil)
        let leaving = links.first { $0.value.connection?.transport === connection?.transport && connection != nil }
        await note(.disconnect)
        guard let leaving, let connection = leaving.value.connection else { return }
        // Wait until the session has performed the order, or the end would count as a loss. The state change comes after that.
        while !isClosed {
            let version = changes.version
            guard let link = links[leaving.key], !link.isForgotten || latest.state.isConnected else { break }
            await changes.next(after: version)
        }
        await connection.close(code: code, reason: reason)
    }

    /// Closes a connection and connects again after a pause.
    func replace(_ connection: WebSocketConnection, after pause: Duration, _ code: CloseCode, _ reason: String) async {
        guard let generation = generation(of: connection) else { return }
        links[generation]?.pause = pause
        await connection.close(code: code, reason: reason)
    }

    /// Handles the decision of the protocol over a connection: it is ready, or it rejects the connection.
    func judge(_ connection: WebSocketConnection, isReady: Bool) async {
        guard let generation = generation(of: connection) else { return }
        await note(isReady ? .ready(generation: generation) : .rejected(generation: generation))
    }

    /// Returns the generation of a connection, also of the last lost one, because its last messages may still be read.
    private func generation(of connection: WebSocketConnection) -> UInt64? {
        let transport = connection.transport
        if let link = links.first(where: { $0.value.connection?.transport === transport }) { return link.key }
        return lastLost?.transport == ObjectIdentifier(transport) ? lastLost?.generation : nil
    }

    private func perform(_ effect: Session.Effect, at now: Moment) {
        switch effect {
        case .connect(let attempt):
            lastRecord = nil
            connection?.transport.leaveSharedConnection()
            // SAFETY: kept in `links`, cancelled on the order to disconnect and at the end of `run`.
            links[attempt.generation] = Link(task: Task { await self.open(attempt) })
        case .disconnect(let generation, let reason): part(with: generation, reason == .asked ? closeReason : Self.background)
        case .retire(let generation): part(with: generation, Self.handedOver)
        case .probe(let generation): links[generation]?.connection?.transport.probe()
        case .setPingInterval(let generation, let interval): links[generation]?.connection?.transport.setPingInterval(interval)
        case .abandon: for generation in links.keys { abandon(generation) }
        case .fetchCredential(let number): fetchCredential(number)
        case .cancelFetch(let isLate):
            fetch?.cancel()
            guard isLate else { return }
            lastCause = WebSocketError(TransportError(.noCredential, "the provider gave no credential in time"))
            lastCause.map { instruments.noCredential($0) }
        case .transmit(let id, let generation): transmit(id, over: generation)
        case .recall(let id): recall(id)
        case .backlog(let depth): instruments.queued(count: depth.count, bytes: depth.bytes)
        case .refused: break  // The send driver has already handled it.
        case .report(let phase): report(phase, at: now)
        }
    }

    private func part(with generation: UInt64, _ closeReason: CloseReason) {
        guard let link = links[generation] else { return }
        links[generation]?.isForgotten = true
        changes.announce()
        guard let connection = link.connection else { return link.task.cancel() }
        if let target = link.target { stop(target) }
        if self.connection?.transport === connection.transport { fallBack() }
        // SAFETY: ends with the close handshake, which has a deadline, or with the connection.
        Task { await connection.close(code: closeReason.code, reason: closeReason.reason) }
    }

    private func abandon(_ generation: UInt64) {
        links[generation]?.isForgotten = true
        changes.announce()
        if let target = links[generation]?.target { release(target) }
        links[generation]?.task.cancel()
        links[generation]?.connection?.abort()
    }

    private func fetchCredential(_ number: UInt64) {
        guard let provider else { return }
        fetch?.cancel()
        let request = CredentialRequest(challenges: challenges, refused: lostCredential, isRefused: isRefused)
        // SAFETY: kept in `fetch`, cancelled by the next one, on order, and at the end of `run`.
        fetch = Task {
            do {
                let credential = try await provider(request)
                if Task.isCancelled { return }
                self.credential = credential
                await note(.credentialProvided(fetch: number, expiresIn: credential.expiresIn))
            } catch {
                if Task.isCancelled { return }
                let isRetryable = (error as? CredentialUnavailable)?.isRetryable ?? true
                lastCause = WebSocketError(TransportError(.noCredential, "the provider of credentials failed", underlying: error))
                lastCause.map { instruments.noCredential($0) }
                await note(.credentialFailed(fetch: number, isRetryable: isRetryable))
            }
        }
    }

    // MARK: - Events and states

    /// Waits for the next item for the consumer; returns nil after the end, or when cancelled.
    ///
    /// A connection stays first until it is ``drained(_:)``.
    func nextSource() async -> Source? {
        while true {
            let version = changes.version
            switch sources.first {
            case .event:
                defer { changes.announce() }
                return sources.removeFirst()
            case let source?: return source
            case nil: if isClosed || Task.isCancelled { return nil }
            }
            await changes.next(after: version)
        }
    }

    /// Removes a connection from the sources after all of its messages were taken.
    func drained(_ connection: WebSocketConnection) {
        guard case .connection(let first) = sources.first, first.transport === connection.transport else { return }
        sources.removeFirst()
        changes.announce()
    }

    func show(_ opening: Opening) {
        sources.add(opening)
        changes.announce()
    }

    /// Waits until the number of unread connections is below the limit.
    func roomInBacklog() async {
        while true {
            let version = changes.version
            if sources.connectionCount < Self.backlogLimit || Task.isCancelled { return }
            await changes.next(after: version)
        }
    }

    func show(_ state: WebSocketState, nextAttempt: Moment? = nil) {
        instruments.entered(state)
        observed.withLockedValue { $0 = (state, $0.version + 1, nextAttempt) }
        if case .closed = state {} else { sources.add(.state(state)) }
        changes.announce()
    }

    func add(_ event: WebSocketEvent) {
        sources.add(event)
        changes.announce()
    }

    func end(with error: WebSocketError?) {
        guard !isClosed else { return }
        (isClosed, endCause) = (true, error ?? (isStopping ? nil : lastCause))
        sendDriver.close()
        show(.closed(error))
        add(.closed(Closure(error: error, record: lastRecord)))
    }

    /// Passes on the app's state from a source until the session ends.
    func follow(_ source: (any LifeSource)?) async {
        guard let source else { return }
        for await update in source.updates() { await note(.life(update)) }
    }

    /// Passes on the network's state from a source until the session ends.
    func follow(_ source: (any PathSource)?) async {
        guard let source else { return }
        for await update in source.updates() { await note(.path(update)) }
    }

    /// The interval at which the metrics get the traffic counters.
    private static let watchInterval = Duration.seconds(10)

    /// Runs `body` and updates the metrics meanwhile.
    func watched<Result>(_ body: () async -> Result) async -> Result {
        guard instruments.isWatched else { return await body() }
        // SAFETY: ends with this function.
        let watch = Task { [instruments, sleep] in
            while (try? await sleep(Self.watchInterval)) != nil { instruments.notifyTraffic() }
        }
        defer { watch.cancel() }
        return await body()
    }
}

/// Access to the present connection.
extension LiveSession {
    /// The present connection, unless it has ended and its loss is about to be noticed.
    var usable: WebSocketConnection? { connection?.closeRecord == nil ? connection : nil }

    /// Returns the present connection; waits for one while there is none.
    func presentConnection() async throws(WebSocketError) -> WebSocketConnection {
        while true {
            let version = changes.version
            if let usable { return usable }
            if isClosed || isStopping { throw closedError }
            if Task.isCancelled { throw .cancelledRequest }
            await changes.next(after: version)
        }
    }
}

/// Errors for requests of the app that failed.
extension LiveSession {
    /// Why there is no connection; nil while there is one, and if the app wants none.
    var obstacle: WebSocketError? {
        if isClosed { return endCause }
        return connection == nil && !isStopping ? lastCause : nil
    }

    /// The error for calls on a closed socket.
    var closedError: WebSocketError { WebSocketError(.socketClosed(obstacle)) }

    /// Returns the error for a request that got no answer in time.
    func unanswered(within time: Duration) -> WebSocketError { WebSocketError(.unanswered(within: time, obstacle)) }

    func failure(_ reason: SendRefusal) -> WebSocketError { WebSocketError(TransportError(reason, cause: obstacle)) }
}
