import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import WebSocketCore
import WebSocketRuntime

/// Asks a proxy for a tunnel to the server, and tells the handlers behind it that the connection is active once the tunnel is open.
final class ProxyHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let stage: ProxyStage
    private var negotiation: ProxyNegotiation
    private let fail: @Sendable (TransportError) -> Void
    private var deadline: Scheduled<Void>?
    private var isDone = false

    init(_ stage: ProxyStage, _ negotiation: ProxyNegotiation, fail: @escaping @Sendable (TransportError) -> Void) {
        (self.stage, self.negotiation, self.fail) = (stage, negotiation, fail)
    }

    func channelActive(context: ChannelHandlerContext) {
        let timeout = stage.options.handshakeTimeout
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) { [weak self] in
            guard let self else { return }
            end(context, with: TransportError(.timedOut, "the proxy \(stage.proxy) did not open a tunnel within \(timeout)"))
        }
        send(negotiation.opening, context)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDone else { return context.fireChannelRead(data) }
        var buffer = unwrapInboundIn(data)
        do throws(ProxyFailure) {
            while !isDone {
                switch try buffer.readStep(&negotiation) {
                case .more: return
                case .send(let bytes): send(bytes, context)
                case .established: open(buffer, context)
                }
            }
        } catch {
            let place = "the proxy \(stage.proxy) did not open a tunnel to \(stage.options.url)"
            var failure = TransportError(.proxyFailed, "\(place): \(error)", underlying: error)
            failure.response = error.response
            end(context, with: failure)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isDone { context.fireChannelReadComplete() } else { context.read() }
    }

    /// Hides the events of TLS with the proxy from the server's handlers: the server must not be judged by the proxy's certificate.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if !isDone, event is TLSUserEvent || event is TrustGate.Passed { return }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(context, with: TransportError(.lost, "the proxy \(stage.proxy) hung up before the tunnel was open"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isDone else { return context.fireErrorCaught(error) }
        let proxy = stage.proxy
        switch error {
        case let error as TransportError: end(context, with: error)
        case NIOSSLError.uncleanShutdown, NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])):
            end(context, with: TransportError(.lost, "the proxy \(proxy) hung up before the tunnel was open", underlying: error))
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            end(context, with: TransportError(.tls, "TLS with the proxy \(proxy) failed: \(error)", underlying: error))
        default:
            let words = TransportError.words(error)
            end(context, with: TransportError(.lost, "the link to the proxy \(proxy) failed: \(words)", underlying: error))
        }
    }

    private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    private func open(_ rest: ByteBuffer, _ context: ChannelHandlerContext) {
        isDone = true
        deadline?.cancel()
        context.fireChannelActive()
        if rest.readableBytes > 0 {
            context.fireChannelRead(NIOAny(rest))
            context.fireChannelReadComplete()
        }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private func end(_ context: ChannelHandlerContext, with error: TransportError) {
        guard !isDone else { return }
        isDone = true
        deadline?.cancel()
        fail(error)
        context.close(promise: nil)
    }
}

extension ByteBuffer {
    /// Continues to read the proxy's answer, and consumes the used bytes.
    fileprivate mutating func readStep(_ negotiation: inout ProxyNegotiation) throws(ProxyFailure) -> ProxyNegotiation.Step {
        let result = readWithUnsafeReadableBytes { bytes in
            var rest = bytes
            let result = Result { () throws(ProxyFailure) in try negotiation.receive(&rest) }
            return (bytes.count - rest.count, result)
        }
        return try result.get()
    }
}

/// The handlers between the socket and the WebSocket if there is a proxy.
struct ProxyStage: Sendable {
    let proxy: Proxy
    let options: ClientOptions
    private let tls: ClientTLS?
    private let negotiation: ProxyNegotiation

    init(_ proxy: Proxy, _ options: ClientOptions) throws(TransportError) {
        (self.proxy, self.options) = (proxy, options)
        guard options.url.socketPath == nil else {
            throw TransportError(.invalidConfiguration, "a Unix domain socket cannot be reached through a proxy: \(options.url)")
        }
        tls = proxy.kind == .https ? try ClientTLS(options.proxyTLS, host: proxy.host, place: "the proxy \(proxy)") : nil
        do throws(ProxyFailure) {
            negotiation = try ProxyNegotiation(
                through: proxy, to: options.url.host, port: options.url.port, headLimit: options.headLimit)
        } catch {
            throw TransportError(.invalidConfiguration, "cannot connect through the proxy \(proxy): \(error)", underlying: error)
        }
    }

    /// Adds the negotiation with the proxy to the end of the pipeline; calls `fail` if it fails.
    func add(to pipeline: ChannelPipeline.SynchronousOperations, fail: @escaping @Sendable (TransportError) -> Void) throws {
        try tls?.install(on: pipeline)
        try pipeline.addHandler(ProxyHandler(self, negotiation, fail: fail))
    }

    /// Converts an error while connecting to the proxy.
    func failure(connecting error: any Error) -> TransportError {
        // Connecting to a proxy fails in the same ways as connecting to a server; only the text differs.
        let plain = TransportError(connecting: error, to: options.url)
        let cause = (error as? NIOConnectionError)?.connectionErrors.last?.error ?? error
        let words =
            switch plain.code {
            case .unresolved: "its host could not be found"
            case .timedOut: "it did not answer in time"
            default: TransportError.words(cause)
            }
        return TransportError(plain.code, "could not connect to the proxy \(proxy): \(words)", underlying: error)
    }
}
