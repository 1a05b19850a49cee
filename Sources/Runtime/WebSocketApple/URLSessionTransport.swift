import MachineCore
package import WebSocketCore
package import WebSocketRuntime

/// A WebSocket of the system: `URLSessionWebSocketTask` as a transport.
///
/// The system handles proxies, VPNs and radios. This transport has fewer features than our own: it has no compression, it collects the
/// pieces of a message before sending it, and it may lose messages that the system has buffered when the link breaks. Bytes in
/// ``traffic`` are those of messages.
package final class URLSessionTransport: MessageTransport {
    package let agreement: Agreement
    package let role = Role.client
    private let ports: LinkPorts
    private let post: AsyncStream<SystemLink.Input>.Continuation

    /// Connects; returns once the server has accepted.
    ///
    /// Cancellation ends the attempt at once.
    package static func open<C: Clock>(
        _ socket: any SystemSocket, _ settings: SystemSettings = SystemSettings(), clock: C = ContinuousClock()
    ) async throws(TransportError) -> URLSessionTransport where C.Duration == Duration {
        let (inputs, post) = AsyncStream.makeStream(of: SystemLink.Input.self)
        let opening = LinkOutcome<Result<Agreement, TransportError>>()
        socket.start { event in
            switch event {
            case .opened(let agreement): opening.settle(.success(agreement))
            case .closed: opening.settle(.failure(TransportError(.closed, "the peer closed while the connection was opened")))
            case .ended(let failure):
                let error = failure.map { TransportError($0, isOpening: true) }
                opening.settle(.failure(error ?? TransportError(.unreachable, "the system ended the attempt")))
            }
            post.yield(.event(event))
        }
        let time = LinkTime(clock)
        // SAFETY: cancelled below, as soon as the outcome is known.
        let alarm = Task {
            guard (try? await time.sleep(time.now() + settings.openTimeout)) != nil else { return }
            opening.settle(.failure(TransportError(.timedOut, "opening the connection timed out")))
        }
        defer { alarm.cancel() }
        let result = await withTaskCancellationHandler {
            await opening.wait()
        } onCancel: {
            opening.settle(.failure(TransportError(.cancelled, "connecting was cancelled")))
        }
        do throws(TransportError) {
            return URLSessionTransport(try result.get(), socket, settings, time, inputs, post)
        } catch {
            socket.abort()
            throw error
        }
    }

    private init(
        _ agreement: Agreement, _ socket: any SystemSocket, _ settings: SystemSettings, _ time: LinkTime,
        _ inputs: AsyncStream<SystemLink.Input>, _ post: AsyncStream<SystemLink.Input>.Continuation
    ) {
        let ports = LinkPorts(
            receiveBuffer: settings.receiveBuffer, sendBuffer: settings.sendBuffer, room: { post.yield(.room) },
            work: { post.yield(.work) })
        (self.agreement, self.ports, self.post) = (agreement, ports, post)
        // SAFETY: ends when the transport is released.
        Task {
            let link = SystemLink(socket, ports, settings, time, post)
            for await input in inputs where link.handle(input) == .released { break }
        }
    }

    deinit { post.yield(.release) }

    package var closeRecord: CloseRecord? { ports.ending.value?.record }
    package var traffic: LinkTraffic { ports.meter.traffic }

    package func ended() async -> Result<CloseRecord, TransportError> {
        let ending = await ports.ending.wait()
        return ending.error.map { .failure($0) } ?? .success(ending.record)
    }

    package func receive() async throws(TransportError) -> Received? { try await ports.inbound.next() }
    package func send(_ message: Message) async throws(TransportError) { try await ports.outbound.send(message) }
    package func offer(_ message: Message) throws(TransportError) -> Bool { try ports.outbound.offer(message) }
    package func beginMessage() async throws(TransportError) -> MessageTicket { try await ports.outbound.beginMessage() }

    package func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError) {
        try await ports.outbound.send(chunk, of: ticket)
    }

    package func abandon(_ ticket: MessageTicket) {
        guard ports.outbound.abandon(ticket) else { return }
        post.yield(.close(CloseFrame(.internalError, reason: "a message was given up half sent")))
    }

    package func whenWritten(_ body: @escaping @Sendable (_ isWritten: Bool) -> Void) { ports.outbound.whenWritten(body) }

    package func ping(timeout: Duration) async throws(TransportError) -> Duration {
        let pong = LinkOutcome<Result<Duration, TransportError>>()
        if let ending = ports.ending.value { throw ending.error ?? .closing }
        post.yield(.ping(timeout, pong))
        let result = await withTaskCancellationHandler {
            await pong.wait()
        } onCancel: {
            pong.settle(.failure(TransportError(.cancelled, "the wait for a pong was cancelled")))
        }
        return try result.get()
    }

    package func probe() { post.yield(.probe) }
    package func setPingInterval(_ interval: Duration?) { post.yield(.setPingInterval(interval)) }
    package func observe(_ observer: (any LinkObserver)?) { post.yield(.observe(observer)) }

    package func close(_ frame: CloseFrame) async -> CloseRecord {
        post.yield(.close(frame))
        return await withTaskCancellationHandler {
            await ports.ending.wait().record
        } onCancel: {
            abort()
        }
    }

    package func abort() { post.yield(.abort) }
}

extension URLSessionTransport: BatchTransport {
    package var inbound: InboundQueue { ports.inbound }
}

/// The settings of a connection over the system's WebSocket.
package struct SystemSettings: Sendable {
    /// The maximum size of a message, received or collected from pieces, in bytes.
    package var messageLimit = 1 << 20
    /// The number of received and not yet taken bytes above which no more is requested from the system.
    package var receiveBuffer = 256 * 1024
    /// The number of bytes accepted for sending above which senders wait.
    package var sendBuffer = 64 * 1024
    /// Whether messages are delivered as such, or as one piece each.
    package var delivery = Delivery.messages
    /// The message that replaces pings.
    package var pingMessage: PingMessage?
    /// The timeout from the start to an open connection.
    package var openTimeout = Duration.seconds(20)
    /// The timeout for the peer's close frame.
    package var closeTimeout = Duration.seconds(10)
    /// The length of silence after which a ping is sent; nil sends none.
    package var pingInterval: Duration? = .seconds(20)
    /// The timeout for a pong.
    package var pingTimeout = Duration.seconds(10)
    /// The timeout for the system to accept a message.
    package var stallTimeout = Duration.seconds(30)

    package init() {}
}
