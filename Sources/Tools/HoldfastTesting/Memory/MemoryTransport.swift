public import Holdfast
import WebSocketRuntime

/// One end of a WebSocket in memory, for tests: the rules are those of the network, the network is not there.
///
/// Messages wait in the same bounded queues, the close handshake and the heartbeat are the same machines. What a network does
/// on its worst days happens on demand.
/// ```swift
/// let (client, server) = MemoryTransport.pair()
/// let connection = WebSocketConnection(client)
/// try await server.send(.text("hello"))
/// client.cut()
/// ```
/// Nothing is encoded, so there is no compression, whatever the agreement says. The link ends at the latest when both ends are
/// released.
public final class MemoryTransport: MessageTransport {
    /// What the opening handshake would have agreed on.
    public let agreement: Agreement
    /// Which end this is.
    public let role: Role

    fileprivate let ports: LinkPorts
    private let post: AsyncStream<MemoryLink.Input>.Continuation

    /// Two connected ends.
    ///
    /// - Parameters:
    ///   - agreement: What both ends say of the opening handshake that did not take place.
    ///   - configuration: What both ends obey: its limits on messages and buffers, its timeouts once connected, its delivery.
    ///   - clock: What the timeouts are measured with.
    public static func pair<C: Clock>(
        agreement: Agreement = Agreement(response: ResponseHead(status: 101)),
        configuration: WebSocketConfiguration = WebSocketConfiguration(), clock: C = ContinuousClock()
    ) -> (client: MemoryTransport, server: MemoryTransport) where C.Duration == Duration {
        pair(agreement, client: configuration, server: configuration, clock)
    }

    /// Two connected ends that obey different configurations.
    package static func pair<C: Clock>(
        _ agreement: Agreement = Agreement(response: ResponseHead(status: 101)), client near: WebSocketConfiguration,
        server far: WebSocketConfiguration, _ clock: C = ContinuousClock()
    ) -> (client: MemoryTransport, server: MemoryTransport) where C.Duration == Duration {
        let (inputs, post) = AsyncStream.makeStream(of: MemoryLink.Input.self)
        let time = LinkTime(clock)
        let (client, server) = (ports(.client, near.limits, post), ports(.server, far.limits, post))
        // SAFETY: ends when both transports are released; a link that is over waits for nothing else.
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

    /// Who closed and with which codes; nil while the connection is open.
    public var closeRecord: CloseRecord? { ports.ending.value?.record }

    /// What this end has carried so far; nothing is encoded, so the bytes on the wire are those of the messages.
    public var traffic: LinkTraffic { ports.meter.traffic }

    /// Waits for the end, whether or not all messages were taken: how it closed, or why it failed.
    public func ended() async -> Result<CloseRecord, TransportError> {
        let ending = await ports.ending.wait()
        return ending.error.map { .failure($0) } ?? .success(ending.record)
    }

    /// Waits for the next message or piece; nil after a clean end.
    public func receive() async throws(TransportError) -> Received? { try await ports.inbound.next() }

    /// Hands a message to the send buffer; waits while the buffer is full.
    public func send(_ message: Message) async throws(TransportError) { try await ports.outbound.send(message) }

    /// Hands a message over without waiting; false if the send buffer is full.
    public func offer(_ message: Message) throws(TransportError) -> Bool { try ports.outbound.offer(message) }

    /// Reserves the right to send one message in pieces; other messages wait meanwhile.
    public func beginMessage() async throws(TransportError) -> MessageTicket { try await ports.outbound.beginMessage() }

    /// Hands over the next piece of the message that `ticket` stands for; its last piece returns the right.
    public func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError) {
        try await ports.outbound.send(chunk, of: ticket)
    }

    /// Gives up a message begun with ``beginMessage()``; if pieces of it are out, the connection is closed with 1011.
    public func abandon(_ ticket: MessageTicket) {
        guard ports.outbound.abandon(ticket) else { return }
        post.yield(.close(role, CloseFrame(.internalError, reason: "a message was given up half sent")))
    }

    /// Tells once whether the link has carried over all that was accepted for sending before this call.
    ///
    /// With true as soon as it has, with false if the connection ended first.
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

    /// Asks the peer at once whether it lives; silence for the time of a pong, on the pair's clock, fails the connection.
    public func probe() { post.yield(.probe(role)) }

    /// Silence of this length, on the pair's clock, calls for an automatic ping from now on; nil for none.
    public func setPingInterval(_ interval: Duration?) { post.yield(.setPingInterval(role, interval)) }

    /// Tells `observer` what is measured from now on, until the connection ends; nil: nobody is told.
    public func observe(_ observer: (any LinkObserver)?) { post.yield(.observe(role, observer)) }

    /// Performs the close handshake, after what was accepted for sending; returns when the outcome is known.
    ///
    /// If the task is cancelled the link is dropped at once.
    public func close(_ frame: CloseFrame) async -> CloseRecord {
        post.yield(.close(role, frame))
        return await withTaskCancellationHandler {
            await ports.ending.wait().record
        } onCancel: {
            abort()
        }
    }

    /// Drops the link at once, without a close handshake; what is under way is lost.
    public func abort() { post.yield(.abort(role)) }

    /// Cuts the link: both ends lose the connection at once, and what is under way is lost.
    public func cut() { post.yield(.cut) }

    /// Passes nothing on from now, in both directions, and breaks nothing: a half-open link.
    ///
    /// Neither end hears of it, not even when the other goes away: only a heartbeat, or a deadline, tells.
    public func stall() { post.yield(.stall) }

    /// Passes everything on again, and what had waited.
    public func resume() { post.yield(.resume) }
}

extension MemoryTransport: BatchTransport {
    package var inbound: InboundQueue { ports.inbound }
}

/// A server in memory, for tests of whatever connects and connects again: tells of every attempt, and the test decides what
/// becomes of it.
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
/// A connection that was let in stays until it is closed or cut, whether or not the test keeps its end, or until the server is released.
public final class MemoryServer: Sendable {
    private let attempts: AsyncStream<Attempt>
    private let announce: AsyncStream<Attempt>.Continuation
    private let pair: @Sendable (Agreement) -> (client: MemoryTransport, server: MemoryTransport)

    /// A server whose connections obey `configuration`, their timeouts measured with `clock`; see
    /// ``MemoryTransport/pair(agreement:configuration:clock:)``.
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

    /// Opens a connection as a client, once the test has answered the attempt.
    ///
    /// - Parameter request: What the test sees as ``Attempt/request``.
    /// - Throws: What the attempt is refused with; `TransportError.Code.cancelled` if the task is cancelled.
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

    /// Waits for the next attempt to connect, also one that began before this call; nil if the task is cancelled.
    ///
    /// Call it from one task at a time.
    public func nextAttempt() async -> Attempt? {
        var iterator = attempts.makeAsyncIterator()
        return await iterator.next()
    }

    /// Somebody who connects, and waits for an answer; refused if it is released without one.
    public final class Attempt: Sendable {
        /// Which attempt it is, where to, and with which credential.
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

        /// Lets the client in, and returns the server's end.
        ///
        /// A client that has given up meanwhile is gone at once.
        public func accept(_ agreement: Agreement = Agreement(response: ResponseHead(status: 101))) -> MemoryTransport {
            let (client, server) = pair(agreement)
            answer.settle(.success(client))
            return server
        }

        /// Lets the attempt fail.
        public func refuse(_ error: TransportError) { answer.settle(.failure(error)) }

        /// Waits until the attempt is over: answered, or given up by the client.
        public func ended() async { _ = await answer.wait() }
    }
}
