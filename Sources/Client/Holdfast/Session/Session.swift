import MachineCore
import NIOConcurrencyHelpers
import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Runs a `Reconnector` and keeps the order of what happened: the shell around the rules of a ``WebSocket``.
actor Session {
    /// What the consumer has yet to see: an event, or a connection whose messages come next.
    enum Source {
        case event(WebSocketEvent)
        case connection(WebSocketConnection)
    }
    /// Connections that are lost and not yet read to their end, before no further one is opened.
    private static let backlogLimit = 8

    private let connect: @Sendable () async throws(WebSocketError) -> WebSocketConnection
    private let sleep: @Sendable (Duration) async throws -> Void
    private let changes = Changes()
    private var sources: [Source] = []
    private var connection: WebSocketConnection?
    private var lastCause: WebSocketError?
    private var link: Task<Void, Never>?
    private var stop: (@Sendable () async -> Void)?
    private var isStopping = false
    private var isClosed = false

    init(
        connect: @escaping @Sendable () async throws(WebSocketError) -> WebSocketConnection,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        (self.connect, self.sleep) = (connect, sleep)
    }

    /// Runs until closed or cancelled.
    func run<C: Clock>(_ reconnector: Reconnector, clock: C) async where C.Duration == Duration {
        let (orders, continuation) = AsyncStream.makeStream(of: (Reconnector.Effect, Moment).self)
        let driver = Driver(reconnector, clock: clock) { continuation.yield(($0, $1)) }
        stop = { await driver.handle(.stop) }
        await driver.handle(isStopping ? .stop : .start)
        for await (effect, moment) in orders {
            switch effect {
            case .connect(_, let generation):
                // SAFETY: kept in `link`, cancelled on the order to disconnect and at the end of this function.
                link = Task {
                    let loss = await open { await driver.handle(.opened(generation: generation)) }
                    await driver.handle(.lost(generation: generation, loss))
                }
            case .disconnect: link?.cancel()
            case .report(let phase): report(phase, at: moment)
            }
            if isClosed { break }
        }
        link?.cancel()
        connection?.abort()
        end(with: nil)
    }

    /// Closes for good.
    func close(code: CloseCode, reason: String) async {
        isStopping = true
        if let connection { await connection.close(code: code, reason: reason) }
        await stop?()
    }

    /// The present connection; waits for one while there is none.
    func connection(within timeout: Duration) async throws(WebSocketError) -> WebSocketConnection {
        if let usable { return usable }
        let isOver = NIOLockedValueBox(false)
        // SAFETY: ends with this function.
        let limit = Task { [sleep, changes] in
            guard (try? await sleep(timeout)) != nil else { return }
            isOver.withLockedValue { $0 = true }
            changes.announce()
        }
        defer { limit.cancel() }
        while true {
            let version = changes.version
            if let usable { return usable }
            if isClosed || isStopping { throw WebSocketError(TransportError(.closed, "the socket is closed")) }
            if Task.isCancelled { throw WebSocketError(TransportError(.cancelled, "the wait for a connection was cancelled")) }
            if isOver.withLockedValue(\.self) {
                throw WebSocketError(TransportError(.timedOut, "there was no connection within \(timeout)", underlying: lastCause))
            }
            await changes.next(after: version)
        }
    }

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

    /// The present connection, unless it has ended and its loss is about to be noticed.
    private var usable: WebSocketConnection? { connection?.closeRecord == nil ? connection : nil }

    /// Opens one connection and stays until it has ended; says how it was lost.
    private func open(_ opened: () async -> Void) async -> Loss {
        await roomInBacklog()
        if Task.isCancelled || isStopping { return Loss(isRetryable: false) }
        do throws(WebSocketError) {
            let connection = try await connect()
            // The session ended while the attempt could no longer be stopped: nobody is left to end the connection.
            if isClosed { connection.abort() } else if isStopping { await connection.close() } else { begin(connection) }
            await opened()
            let ending = await connection.transport.ended()
            self.connection = nil
            return judge(ending)
        } catch {
            lastCause = error
            return Loss(isRetryable: error.isRetryable && !isStopping)
        }
    }

    private func begin(_ connection: WebSocketConnection) {
        self.connection = connection
        sources += [.event(.opened(connection)), .connection(connection)]
        changes.announce()
    }

    private func judge(_ ending: Result<CloseRecord, TransportError>) -> Loss {
        switch ending {
        case .failure(let error):
            let cause = WebSocketError(error)
            lastCause = cause
            return Loss(isRetryable: cause.isRetryable && !isStopping, code: cause.closeRecord?.code)
        case .success(let record):
            var error = TransportError(.closed, "the connection was closed with \(record.code)")
            error.record = record
            lastCause = WebSocketError(error)
            // Whoever closes a connection of ours on this side means it.
            return isStopping || record.closedFirst == .local ? Loss(isRetryable: false, code: record.code) : Loss(code: record.code)
        }
    }

    private func report(_ phase: Reconnector.Phase, at now: Moment) {
        switch phase {
        case .waiting(let until, let attempt):
            guard let lastCause else { return }
            add(.reconnecting(attempt: attempt, delay: until - now, cause: lastCause))
        case .stopped(let reason): end(with: isPeaceful(reason) ? nil : lastCause)
        case .idle, .connecting, .connected: break
        }
    }

    private func isPeaceful(_ reason: Reconnector.StopReason) -> Bool {
        if case .asked = reason { return true }
        return isStopping || lastCause?.closeRecord.map { $0.isClean && ($0.code == .normal || $0.closedFirst == .local) } ?? false
    }

    private func end(with error: WebSocketError?) {
        guard !isClosed else { return }
        isClosed = true
        add(.closed(error))
    }

    /// Of attempts that failed in a row only the news of the last is kept: a consumer that stays away costs nothing.
    private func add(_ event: WebSocketEvent) {
        if case .reconnecting = event, case .event(.reconnecting) = sources.last { sources.removeLast() }
        sources.append(.event(event))
        changes.announce()
    }

    private func roomInBacklog() async {
        while true {
            let version = changes.version
            let backlog = sources.count { if case .connection = $0 { true } else { false } }
            if backlog < Self.backlogLimit || Task.isCancelled { return }
            await changes.next(after: version)
        }
    }
}
