import NIOCore
package import NIOPosix
import NIOSSL
import NIOTLS
package import WebSocketCore
package import WebSocketRuntime

/// The bytes of one TCP connection, behind proxy and TLS: for whoever looks at a server more closely than a WebSocket does.
///
/// It reads only while somebody waits for bytes, so that a flood cannot fill the memory.
package struct ByteLink: Sendable {
    /// What came of waiting.
    package enum Arrival: Sendable {
        /// Some bytes, at least one.
        case bytes([UInt8])
        /// The link has ended; nil: as TCP ends when a peer closes it.
        case end(TransportError?)
        /// Nothing, within the time.
        case nothing
    }

    /// What TLS agreed on.
    package struct Security: Sendable {
        /// The chain, the server's own certificate first.
        package let chain: [ServerCertificate]
        /// Such as `1.3`; nil: not known.
        package let version: String?
        /// What ALPN chose.
        package let applicationProtocol: String?
    }

    /// What the socket is connected to: the server or the proxy.
    package let remote: String
    /// How long it took until TCP, and the proxy if there is one, were ready; the lookup of the name included.
    package let connected: Duration
    /// How long TLS took after that.
    package let secured: Duration?
    /// What TLS agreed on; nil without TLS.
    package let security: Security?

    let channel: any Channel
    let handler: NIOLoopBound<ByteLinkHandler>

    /// Waits for bytes, at most so long; one waits at a time.
    ///
    /// If the task is cancelled the link is dropped.
    package func next(within limit: Duration) async -> Arrival {
        let arrived = channel.eventLoop.makePromise(of: Arrival.self)
        return await withTaskCancellationHandler {
            channel.eventLoop.execute { handler.value.wait(limit, arrived) }
            return (try? await arrived.futureResult.get()) ?? .nothing
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Hands bytes to the socket, and does not wait until it has taken them: that they could not be sent shows as the link's end.
    package func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    /// Ends the link.
    package func close() { channel.close(promise: nil) }
}

/// Waits until the way is open, and then gives its bytes to whoever asks for them.
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
        // A proxy within TLS has a gate of its own, which opens before the connection seems to begin here.
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

    /// Fulfils the promise with what is there, or comes within the time.
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
        // TLS reads without having anything to tell.
        if waiting != nil || !isOpen { context.read() }
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let failure = TransportError(handshaking: error, with: options.url)
        opened.fail(failure)
        // That a peer ends TCP without ending TLS is no more than rude.
        if end == nil { end = .end(error as? NIOSSLError == .uncleanShutdown ? nil : failure) }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        opened.fail(TransportError(.lost, "\(options.url) hung up before the way was open"))
        if end == nil { end = .end(nil) }
        _ = deliver()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Whether there was something for who waits.
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
    /// Opens TCP, through the proxy if there is one, and TLS for a secure URL; nothing is sent after that.
    ///
    /// With `isUnverified` any chain is taken, to look at it: who answers may be anybody. Cancellation ends the attempt at once. The
    /// system's own TLS would not tell what was agreed on, so it is always NIOSSL that does it.
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
