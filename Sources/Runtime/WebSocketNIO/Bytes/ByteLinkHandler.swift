import NIOCore
import NIOSSL
import NIOTLS
import WebSocketCore
import WebSocketRuntime

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
