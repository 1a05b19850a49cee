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

    fileprivate let ports: MemoryPorts
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
        let client = MemoryPorts(.client, near.limits, post)
        let server = MemoryPorts(.server, far.limits, post)
        // SAFETY: ends when both transports are released; a link that is over waits for nothing else.
        Task {
            let link = MemoryLink(MemoryEnd(client, near), MemoryEnd(server, far), LinkTime(clock), post)
            for await input in inputs where link.handle(input) == .released { break }
        }
        return (MemoryTransport(agreement, client, post), MemoryTransport(agreement, server, post))
    }

    private init(_ agreement: Agreement, _ ports: MemoryPorts, _ post: AsyncStream<MemoryLink.Input>.Continuation) {
        (self.agreement, self.role, self.ports, self.post) = (agreement, ports.role, ports, post)
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
}

extension MemoryTransport {
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
