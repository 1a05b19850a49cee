import MachineCore
import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Runs a `Session` and keeps the order of what happened: the shell around the rules of a ``WebSocket``.
actor LiveSession {
    /// What the consumer has yet to see: an event, or a connection whose messages come next.
    enum Source {
        case event(WebSocketEvent)
        case connection(WebSocketConnection)
    }
    /// An attempt, and the connection that came of it.
    struct Link {
        let task: Task<Void, Never>
        /// What the server was shown.
        var credential: Credential?
        var connection: WebSocketConnection?
        var line: SendLine?
        /// The session has ordered its end: what becomes of it is no news.
        var isForgotten = false
        /// The consumers were told of it.
        var isShown = false
        /// It was closed for another to take its place, not before so long.
        var pause: Duration?
    }
    private typealias Farewell = (code: CloseCode, reason: String)
    private static let background: Farewell = (.goingAway, "")
    private static let handedOver: Farewell = (.normal, "a newer connection has taken over")
    /// Connections that are lost and not yet read to their end, before no further one is opened.
    static let backlogLimit = 8

    let connect: @Sendable (WebSocketAttempt) async throws(WebSocketError) -> WebSocketConnection
    let provider: CredentialProvider.Answer?
    let losses: LossTable
    let desk: SendDesk
    /// Who holds values back to send them later.
    nonisolated let held = HeldSends()
    /// How often it was told of the app's life.
    var lifeNews = 0
    nonisolated let instruments: Instruments
    let sleep: @Sendable (Duration) async throws -> Void
    let changes = Changes()
    /// The state, and how many there were before it.
    private let observed = LockedValue((state: WebSocketState.disconnected(nil), version: UInt64(0)))
    private var sources = EventBacklog()
    var links: [UInt64: Link] = [:]
    /// The newest connection.
    var connection: WebSocketConnection?
    /// Why the last attempt or connection ended; nil once there is another connection.
    var lastCause: WebSocketError?
    /// Why it ended for good; nil if this side has closed it, and before.
    private(set) var endCause: WebSocketError?
    /// How the connection ended that was the last so far, until another one is tried.
    var lastRecord: CloseRecord?
    /// The last connection that was lost, and its number.
    var lastLost: (transport: ObjectIdentifier, generation: UInt64)?
    /// How many protocols run over the socket.
    nonisolated let protocols = LockedValue(0)
    var outage = Outage()
    var credential: Credential?
    /// What the server wants to be shown, if it refused the last attempt with 401.
    var challenges: [AuthenticationChallenge] = []
    /// Whether the last loss says that the credential was not good.
    var isRefused = false
    /// The credential of the last attempt or connection that was lost.
    var lostCredential: Credential?
    private var fetch: Task<Void, Never>?
    private(set) var tell: (@Sendable (Session.Input) async -> Void)?
    /// The message that a connection has in hand.
    var inHand: (id: UInt64, task: Task<Void, Never>)?
    var hasEndedSending = false
    /// What happened before it ran.
    private var early: [Session.Input] = []
    private var farewell: Farewell = (.normal, "")
    private(set) var isStopping = false
    private(set) var isClosed = false

    init(
        connect: @escaping @Sendable (WebSocketAttempt) async throws(WebSocketError) -> WebSocketConnection,
        provider: CredentialProvider.Answer?, losses: LossTable, sending: SendPolicy, instruments: Instruments,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        (self.connect, self.provider, self.losses, self.sleep) = (connect, provider, losses, sleep)
        (desk, self.instruments) = (SendDesk(sending), instruments)
    }

    nonisolated var latest: (state: WebSocketState, version: UInt64) { observed.withLockedValue(\.self) }

    /// Runs until closed or cancelled.
    func run<C: Clock>(_ session: Session, clock: C) async where C.Duration == Duration {
        let (orders, continuation) = AsyncStream.makeStream(of: (Session.Effect, Moment, DroppedSend?).self)
        let driver = Driver(session, clock: clock) { [desk] in continuation.yield(($0, $1, desk.hear($0))) }
        tell = { await driver.handle($0) }
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

    /// Passes on what happened outside.
    func note(_ input: Session.Input) async {
        if case .life(let life) = input, !(await isReady(for: life)) { return }
        if let tell { await tell(input) } else { early.append(input) }
    }

    /// Closes for good.
    func close(code: CloseCode, reason: String) async {
        await closeHeld()
        isStopping = true
        farewell = (code, reason)
        if !isClosed { show(.closing) }
        await finishSending()
        // Those with which it has parted may still have something to send.
        let leaving = links.values.compactMap { $0.isForgotten ? $0.connection : nil }
        if let connection { lastRecord = await connection.close(code: code, reason: reason) }
        for connection in leaving { await connection.close(code: code, reason: reason) }
        await tell?(.close)
    }

    /// Closes the connection without an end, until the app wants another.
    func disconnect(code: CloseCode, reason: String) async {
        guard !isStopping, !isClosed else { return }
        (farewell, lastCause) = ((code, reason), nil)
        let leaving = links.first { $0.value.connection?.transport === connection?.transport && connection != nil }
        await note(.disconnect)
        guard let leaving, let connection = leaving.value.connection else { return }
        // The order has to be carried out first: or the end would count as a loss. The state comes behind it.
        while !isClosed {
            let version = changes.version
            guard let link = links[leaving.key], !link.isForgotten || latest.state.isConnected else { break }
            await changes.next(after: version)
        }
        await connection.close(code: code, reason: reason)
    }

    /// Closes a connection, and connects again after a pause.
    func replace(_ connection: WebSocketConnection, after pause: Duration, _ code: CloseCode, _ reason: String) async {
        guard let generation = generation(of: connection) else { return }
        links[generation]?.pause = pause
        await connection.close(code: code, reason: reason)
    }

    /// The protocol over a connection says that it is ready, or gives it up.
    func judge(_ connection: WebSocketConnection, isReady: Bool) async {
        guard let generation = generation(of: connection) else { return }
        await note(isReady ? .ready(generation: generation) : .rejected(generation: generation))
    }

    /// Also that of the last connection that was lost: its last messages may still be read.
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
        case .disconnect(let generation, let farewell): part(with: generation, farewell == .asked ? self.farewell : Self.background)
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
        case .refused: break  // The desk has heard it.
        case .report(let phase): report(phase, at: now)
        }
    }

    private func part(with generation: UInt64, _ farewell: Farewell) {
        guard let link = links[generation] else { return }
        links[generation]?.isForgotten = true
        changes.announce()
        guard let connection = link.connection else { return link.task.cancel() }
        if let line = link.line { stop(line) }
        if self.connection?.transport === connection.transport { fallBack() }
        // SAFETY: ends with the close handshake, which has a deadline, or with the connection.
        Task { await connection.close(code: farewell.code, reason: farewell.reason) }
    }

    private func abandon(_ generation: UInt64) {
        links[generation]?.isForgotten = true
        changes.announce()
        if let line = links[generation]?.line { release(line) }
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

    // MARK: - What is to be seen

    /// Waits for what the consumer is to see next; nil after the end, or when cancelled.
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

    /// All messages of a connection were taken.
    func drained(_ connection: WebSocketConnection) {
        guard case .connection(let first) = sources.first, first.transport === connection.transport else { return }
        sources.removeFirst()
        changes.announce()
    }

    func show(_ opening: Opening) {
        sources.add(opening)
        changes.announce()
    }

    /// Waits until not too many connections wait to be read.
    func roomInBacklog() async {
        while true {
            let version = changes.version
            if sources.connectionCount < Self.backlogLimit || Task.isCancelled { return }
            await changes.next(after: version)
        }
    }

    func show(_ state: WebSocketState) {
        instruments.entered(state)
        observed.withLockedValue { $0 = (state, $0.version + 1) }
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
        desk.close()
        show(.closed(error))
        add(.closed(Closure(error: error, record: lastRecord)))
    }

    /// Passes on what a source tells of the app, until the session ends.
    func follow(_ source: (any LifeSource)?) async {
        guard let source else { return }
        for await update in source.updates() { await note(.life(update)) }
    }

    /// Passes on what a source tells of the network, until the session ends.
    func follow(_ source: (any PathSource)?) async {
        guard let source else { return }
        for await update in source.updates() { await note(.path(update)) }
    }

    /// How often the metrics hear of what is being carried.
    private static let watchInterval = Duration.seconds(10)

    /// Runs `body`, and keeps the metrics informed meanwhile.
    func watched<Result>(_ body: () async -> Result) async -> Result {
        guard instruments.isWatched else { return await body() }
        // SAFETY: ends with this function.
        let watch = Task { [instruments, sleep] in
            while (try? await sleep(Self.watchInterval)) != nil { instruments.tellTraffic() }
        }
        defer { watch.cancel() }
        return await body()
    }
}

/// The connection for those who need that one and no other.
extension LiveSession {
    /// The present connection, unless it has ended and its loss is about to be noticed.
    var usable: WebSocketConnection? { connection?.closeRecord == nil ? connection : nil }

    /// The present connection; waits for one while there is none.
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

/// Why something that the app wanted did not come about.
extension LiveSession {
    /// Why there is no connection; nil while there is one, and if the app wants none.
    var obstacle: WebSocketError? {
        if isClosed { return endCause }
        return connection == nil && !isStopping ? lastCause : nil
    }

    /// What is told to whoever wants something of a socket that is closed.
    var closedError: WebSocketError { WebSocketError(.socketClosed(obstacle)) }

    /// What is told to whoever waited for an answer.
    func unanswered(within time: Duration) -> WebSocketError { WebSocketError(.unanswered(within: time, obstacle)) }

    func failure(_ reason: SendRefusal) -> WebSocketError { WebSocketError(TransportError(reason, cause: obstacle)) }
}
