package import NIOCore
package import NIOPosix
import NIOSSL
import NIOTLS
package import WebSocketCore
package import WebSocketRuntime

/// The bytes of one TCP connection, after proxy and TLS, for tools that inspect a server more closely than a WebSocket does.
///
/// It reads only while a task waits for bytes, so that a flood cannot fill the memory.
package struct ByteLink: Sendable {
    /// The result of a wait.
    package enum Arrival: Sendable {
        /// Some bytes, at least one.
        case bytes([UInt8])
        /// The link has ended; nil means that the peer closed TCP normally.
        case end(TransportError?)
        /// No bytes arrived within the time.
        case nothing
    }

    /// The result of the TLS handshake.
    package struct Security: Sendable {
        /// The certificate chain, the server's own certificate first.
        package let chain: [ServerCertificate]
        /// The TLS version, such as `1.3`; nil if it is not known.
        package let version: String?
        /// The protocol chosen by ALPN.
        package let applicationProtocol: String?
    }

    /// The address that the socket is connected to: the server's or the proxy's.
    package let remote: String
    /// The time until TCP, and the proxy if there is one, were ready; includes the name lookup.
    package let connected: Duration
    /// The time that TLS took after that.
    package let secured: Duration?
    /// The result of the TLS handshake; nil without TLS.
    package let security: Security?

    let channel: any Channel
    let handler: NIOLoopBound<ByteLinkHandler>

    /// Waits for bytes, up to a time limit; only one task at a time may wait.
    ///
    /// If the task is cancelled, the link is dropped.
    package func next(within limit: Duration) async -> Arrival {
        let arrived = channel.eventLoop.makePromise(of: Arrival.self)
        return await withTaskCancellationHandler {
            channel.eventLoop.execute { handler.value.wait(limit, arrived) }
            return (try? await arrived.futureResult.get()) ?? .nothing
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Passes bytes to the socket without waiting until they are accepted; a failure shows as the end of the link.
    package func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    /// Closes the link.
    package func close() { channel.close(promise: nil) }
}

/// Waits until the connection is established, and then delivers its bytes on request.
final class ByteLinkHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let options: ClientOptions
    private let opened: EventLoopPromise<ByteLink>
    private let start = NIODeadline.now()
    private var connected: TimeAmount?
    private var applicationProtocol: String?
    private var deadline: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    private var isOpen = false

    private var arrived = ByteBuffer()
    private var end: ByteLink.Arrival?
    private var waiting: (arrived: EventLoopPromise<ByteLink.Arrival>, alarm: Scheduled<Void>?)?

    init(_ options: ClientOptions, opened: EventLoopPromise<ByteLink>) { (self.options, self.opened) = (options, opened) }

    // MARK: Opening

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
        connected = NIODeadline.now() - start
        guard options.url.isSecure else { return open(nil, context) }
        let (opened, url, limit) = (opened, options.url, options.handshakeTimeout)
        deadline = context.eventLoop.scheduleTask(in: TimeAmount(limit)) {
            opened.fail(TransportError(.timedOut, "\(url) did not finish TLS within \(limit)"))
        }
        context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let chosen)? = event as? TLSUserEvent { applicationProtocol = chosen }
        // For a proxy within TLS: it has its own gate, which opens before the connection appears to begin here.
        if let passed = event as? TrustGate.Passed, connected != nil {
            open(ByteLink.Security(chain: passed.chain, version: passed.version, applicationProtocol: applicationProtocol), context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func open(_ security: ByteLink.Security?, _ context: ChannelHandlerContext) {
        deadline?.cancel()
        isOpen = true
        let connected = connected ?? .zero
        opened.succeed(
            ByteLink(
                remote: context.channel.remoteAddress?.endpoint ?? "", connected: Duration(connected),
                secured: security == nil ? nil : Duration(NIODeadline.now() - start - connected), security: security,
                channel: context.channel, handler: NIOLoopBound(self, eventLoop: context.eventLoop)))
    }

    // MARK: Reading

    /// Completes the promise with the bytes that are there, or that arrive within the time.
    func wait(_ limit: Duration, _ promise: EventLoopPromise<ByteLink.Arrival>) {
        guard waiting == nil else { return promise.succeed(.nothing) }
        waiting = (promise, nil)
        if deliver() { return }
        guard let context else { return answer(.nothing) }
        waiting?.alarm = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { [weak self] in
            self?.answer(.nothing)
            return
        }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        arrived.writeBuffer(&buffer)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        _ = deliver()
        // TLS may read without delivering anything.
        if waiting != nil || !isOpen { context.read() }
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let failure = TransportError(handshaking: error, with: options.url)
        opened.fail(failure)
        // A peer that ends TCP without ending TLS is only impolite.
        if end == nil { end = .end(error as? NIOSSLError == .uncleanShutdown ? nil : failure) }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        opened.fail(TransportError(.lost, "\(options.url) hung up before the connection was established"))
        if end == nil { end = .end(nil) }
        _ = deliver()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Whether there was something to deliver to the waiting task.
    private func deliver() -> Bool {
        if arrived.readableBytes > 0, let bytes = waiting.flatMap({ _ in arrived.readBytes(length: arrived.readableBytes) }) {
            arrived.clear()
            answer(.bytes(bytes))
            return true
        }
        if let end, waiting != nil {
            answer(end)
            return true
        }
        return false
    }

    private func answer(_ arrival: ByteLink.Arrival) {
        guard let (promise, alarm) = waiting else { return }
        waiting = nil
        alarm?.cancel()
        promise.succeed(arrival)
    }
}

extension Duration {
    fileprivate init(_ amount: TimeAmount) { self = .nanoseconds(amount.nanoseconds) }
}

extension NIOConnector {
    /// Opens TCP, through the proxy if there is one, and TLS for a secure URL; sends nothing after that.
    ///
    /// With `isUnverified` any certificate chain is accepted for inspection, so the peer may be anyone. Cancellation ends the attempt at
    /// once. The system's own TLS would not report the negotiated parameters, so this always uses NIOSSL.
    package static func bytes(
        _ options: ClientOptions, isUnverified: Bool = false, on group: MultiThreadedEventLoopGroup = .singleton
    ) async throws(TransportError) -> ByteLink {
        let loop = group.next()
        if !options.url.isSecure { try options.tls.checkPlain(host: options.url.host) }
        let opened = loop.makePromise(of: ByteLink.self)
        try open(options, on: loop, isInspection: isUnverified, for: opened) { ByteLinkHandler(options, opened: opened) }
        return try await result(of: opened.futureResult, else: options) { opened.fail($0) }
    }
}

extension SocketAddress {
    /// The address and port as in a URL: `127.0.0.1:9001`, `[::1]:9001`; a path for a Unix socket.
    package var endpoint: String {
        guard let ip = ipAddress, let port else { return pathname ?? description }
        return ip.contains(":") ? "[\(ip)]:\(port)" : "\(ip):\(port)"
    }
}
