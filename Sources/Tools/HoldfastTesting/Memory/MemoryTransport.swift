public import Holdfast
import WebSocketRuntime

/// One end of a WebSocket in memory, for tests: it follows the rules of a network connection without a network.
///
/// It uses the same bounded queues, and the same state machines for the close handshake and the heartbeat. Tests can produce network
/// faults on demand.
/// ```swift
/// let (client, server) = MemoryTransport.pair()
/// let connection = WebSocketConnection(client)
/// try await server.send(.text("hello"))
/// client.cut()
/// ```
/// Nothing is encoded, so there is no compression, whatever the agreement says. The link ends at the latest when both ends are released.
public final class MemoryTransport: MessageTransport {
    /// The result of an opening handshake, as the test chose it.
    public let agreement: Agreement
    /// Whether this end is the client or the server.
    public let role: Role

    fileprivate let ports: LinkPorts
    private let post: AsyncStream<MemoryLink.Input>.Continuation

    /// Creates two connected ends.
    ///
    /// - Parameters:
    ///   - agreement: The result of the opening handshake that both ends report; no handshake takes place.
    ///   - configuration: The configuration of both ends: limits on messages and buffers, timeouts after the handshake, delivery.
    ///   - clock: The clock that measures the timeouts.
    public static func pair<C: Clock>(
        agreement: Agreement = Agreement(response: ResponseHead(status: 101)),
        configuration: WebSocketConfiguration = WebSocketConfiguration(), clock: C = ContinuousClock()
    ) -> (client: MemoryTransport, server: MemoryTransport) where C.Duration == Duration {
        pair(agreement, client: configuration, server: configuration, clock)
    }

    /// Creates two connected ends with different configurations.
    package static func pair<C: Clock>(
        _ agreement: Agreement = Agreement(response: ResponseHead(status: 101)), client near: WebSocketConfiguration,
        server far: WebSocketConfiguration, _ clock: C = ContinuousClock()
    ) -> (client: MemoryTransport, server: MemoryTransport) where C.Duration == Duration {
        let (inputs, post) = AsyncStream.makeStream(of: MemoryLink.Input.self)
        let time = LinkTime(clock)
        let (client, server) = (ports(.client, near.limits, post), ports(.server, far.limits, post))
        // SAFETY: ends when both transports are released; a finished link waits for nothing else.
        Task {
            let link = MemoryLink(MemoryEnd(.client, client, near, time), MemoryEnd(.server, server, far, time), time, post)
            for await input in inputs where link.handle(input) == .released { break }
        }
        return (MemoryTransport(agreement, .client, client, post), MemoryTransport(agreement, .server, server, post))
    }

    private static func ports(
        _ role: Role, _ limits: WebSocketLimits, _ post: AsyncStream<MemoryLink.Input>.Continuation
    ) -> LinkPorts {
        LinkPorts(
            receiveBuffer: limits.receiveBuffer, sendBuffer: limits.sendBuffer, room: { post.yield(.room(role)) },
            work: { post.yield(.work) })
    }

    private init(_ agreement: Agreement, _ role: Role, _ ports: LinkPorts, _ post: AsyncStream<MemoryLink.Input>.Continuation) {
        (self.agreement, self.role, self.ports, self.post) = (agreement, role, ports, post)
    }

    deinit { post.yield(.release(role)) }

    /// Which side closed, and the close codes; nil while the connection is open.
    public var closeRecord: CloseRecord? { ports.ending.value?.record }

    /// The traffic of this end so far; nothing is encoded, so the bytes on the wire are those of the messages.
    public var traffic: LinkTraffic { ports.meter.traffic }

    /// Waits for the end of the connection, whether or not all messages were taken; returns how it closed, or why it failed.
    public func ended() async -> Result<CloseRecord, TransportError> {
        let ending = await ports.ending.wait()
        return ending.error.map { .failure($0) } ?? .success(ending.record)
    }

    /// Waits for the next message or piece; returns nil after a clean end.
    public func receive() async throws(TransportError) -> Received? { try await ports.inbound.next() }

    /// Adds a message to the send buffer; waits while the buffer is full.
    public func send(_ message: Message) async throws(TransportError) { try await ports.outbound.send(message) }

    /// Adds a message to the send buffer without waiting; returns false if the buffer is full.
    public func offer(_ message: Message) throws(TransportError) -> Bool { try ports.outbound.offer(message) }

    /// Reserves the right to send one message in pieces; other messages wait until it is complete.
    public func beginMessage() async throws(TransportError) -> MessageTicket { try await ports.outbound.beginMessage() }

    /// Adds the next piece of the message of `ticket`; the last piece gives the right back.
    public func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError) {
        try await ports.outbound.send(chunk, of: ticket)
    }

    /// Gives up a message begun with ``beginMessage()``; if some pieces were already sent, closes the connection with 1011.
    public func abandon(_ ticket: MessageTicket) {
        guard ports.outbound.abandon(ticket) else { return }
        post.yield(.close(role, CloseFrame(.internalError, reason: "a message was abandoned half sent")))
    }

    /// Reports once whether the link has carried everything that was accepted for sending before this call.
    ///
    /// Calls `body` with true when it has, and with false if the connection ended first.
    public func whenWritten(_ body: @escaping @Sendable (_ isWritten: Bool) -> Void) { ports.outbound.whenWritten(body) }

    /// Sends a ping and waits for its pong.
    ///
    /// Returns the round trip time on the pair's clock.
    public func ping(timeout: Duration) async throws(TransportError) -> Duration {
        let pong = LinkOutcome<Result<Duration, TransportError>>()
        if let ending = ports.ending.value { throw ending.error ?? .closing }
        post.yield(.ping(role, timeout, pong))
        let result = await withTaskCancellationHandler {
            await pong.wait()
        } onCancel: {
            pong.settle(.failure(TransportError(.cancelled, "the wait for a pong was cancelled")))
        }
        return try result.get()
    }

    /// Sends a ping at once; without an answer within the pong timeout, on the pair's clock, the connection fails.
    public func probe() { post.yield(.probe(role)) }

    /// Sets how long the peer may be silent, on the pair's clock, before an automatic ping is sent; nil for no pings.
    public func setPingInterval(_ interval: Duration?) { post.yield(.setPingInterval(role, interval)) }

    /// Reports measurements to `observer` from now on, until the connection ends; nil removes the observer.
    public func observe(_ observer: (any LinkObserver)?) { post.yield(.observe(role, observer)) }

    /// Performs the close handshake after everything accepted for sending; returns when the outcome is known.
    ///
    /// If the task is cancelled, the link is dropped at once.
    public func close(_ frame: CloseFrame) async -> CloseRecord {
        post.yield(.close(role, frame))
        return await withTaskCancellationHandler {
            await ports.ending.wait().record
        } onCancel: {
            abort()
        }
    }

    /// Drops the link at once, without a close handshake; data in transit is lost.
    public func abort() { post.yield(.abort(role)) }

    /// Cuts the link: both ends lose the connection at once, and data in transit is lost.
    public func cut() { post.yield(.cut) }

    /// Delivers nothing from now on, in both directions, and closes nothing: a half-open link.
    ///
    /// Neither end notices, not even when the other closes: only a heartbeat or a deadline detects it.
    public func stall() { post.yield(.stall) }

    /// Delivers everything again, including what has waited.
    public func resume() { post.yield(.resume) }
}

extension MemoryTransport: BatchTransport {
    package var inbound: InboundQueue { ports.inbound }
}

/// An in-memory server for tests of code that connects and reconnects: the test sees every attempt and decides its outcome.
///
/// ```swift
/// let (server, clock) = (MemoryServer(), ManualClock())
/// let socket = WebSocket(clock: clock, connect: server.connect)
/// await server.nextAttempt()?.refuse(TransportError(.unreachable, "no route"))
/// clock.advance(by: await clock.nextSleep())
/// let peer = await server.nextAttempt()?.accept()
/// try await peer?.send(.text("hello"))
/// peer?.cut()
/// ```
/// An accepted connection lasts until it is closed or cut, or until the server is released, whether or not the test keeps its end.
public final class MemoryServer: Sendable {
    private let attempts: AsyncStream<Attempt>
    private let announce: AsyncStream<Attempt>.Continuation
    private let pair: @Sendable (Agreement) -> (client: MemoryTransport, server: MemoryTransport)

    /// Creates a server whose connections use `configuration` and measure their timeouts with `clock`.
    ///
    /// See ``MemoryTransport/pair(agreement:configuration:clock:)``.
    public init<C: Clock>(
        configuration: WebSocketConfiguration = WebSocketConfiguration(), clock: C = ContinuousClock()
    ) where C.Duration == Duration {
        (attempts, announce) = AsyncStream.makeStream()
        let held = LockedValue<[MemoryTransport]>([])
        pair = { agreement in
            let ends = MemoryTransport.pair(agreement: agreement, configuration: configuration, clock: clock)
            held.withLockedValue { held in
                held.removeAll { $0.closeRecord != nil }
                held.append(ends.server)
            }
            return ends
        }
    }

    /// Connects as a client; waits until the test has answered the attempt.
    ///
    /// - Parameter request: The request that the test sees as ``Attempt/request``.
    /// - Throws: The error that the attempt is refused with; `TransportError.Code.cancelled` if the task is cancelled.
    public func connect(_ request: WebSocketAttempt = WebSocketAttempt()) async throws(WebSocketError) -> WebSocketConnection {
        let answer = LinkOutcome<Result<MemoryTransport, TransportError>>()
        announce.yield(Attempt(request, answer, pair))
        let result = await withTaskCancellationHandler {
            await answer.wait()
        } onCancel: {
            answer.settle(.failure(TransportError(.cancelled, "connecting was cancelled")))
        }
        do throws(TransportError) { return WebSocketConnection(try result.get()) } catch { throw WebSocketError(error) }
    }

    /// Waits for the next attempt to connect, including one that began before this call; returns nil if the task is cancelled.
    ///
    /// Call it from one task at a time.
    public func nextAttempt() async -> Attempt? {
        var iterator = attempts.makeAsyncIterator()
        return await iterator.next()
    }

    /// A client's attempt to connect, which waits for an answer; if it is released without an answer, it is refused.
    public final class Attempt: Sendable {
        /// The number of the attempt, its address, and its credential.
        public let request: WebSocketAttempt
        private let answer: LinkOutcome<Result<MemoryTransport, TransportError>>
        private let pair: @Sendable (Agreement) -> (client: MemoryTransport, server: MemoryTransport)

        init(
            _ request: WebSocketAttempt, _ answer: LinkOutcome<Result<MemoryTransport, TransportError>>,
            _ pair: @escaping @Sendable (Agreement) -> (client: MemoryTransport, server: MemoryTransport)
        ) {
            (self.request, self.answer, self.pair) = (request, answer, pair)
        }

        deinit { refuse(TransportError(.unreachable, "nobody answered")) }

        /// Accepts the connection, and returns the server's end.
        ///
        /// If the client has given up in the meantime, the connection ends at once.
        public func accept(_ agreement: Agreement = Agreement(response: ResponseHead(status: 101))) -> MemoryTransport {
            let (client, server) = pair(agreement)
            answer.settle(.success(client))
            return server
        }

        /// Refuses the attempt with an error.
        public func refuse(_ error: TransportError) { answer.settle(.failure(error)) }

        /// Waits until the attempt is over: answered by the test, or given up by the client.
        public func ended() async { _ = await answer.wait() }
    }
}
