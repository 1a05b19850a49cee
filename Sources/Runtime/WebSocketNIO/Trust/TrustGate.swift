import NIOCore
import NIOSSL
import NIOTLS
import WebSocketCore
import WebSocketRuntime

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Holds back written data until the server is trusted, and reports why it is not; removes itself with the first received bytes.
final class TrustGate: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The event for the next handlers.
    struct Passed: Sendable {
        /// The certificate chain, the server's own certificate first.
        let chain: [ServerCertificate]
        /// The TLS version, such as `1.3`.
        let version: String?
        /// The advice if the server refuses the next request; nil if TLS is no likely reason.
        ///
        /// nginx and Apache accept any client at first, and answer 400 or 403 to one without a valid certificate.
        let advice: String?
    }

    private let trust: TrustContext
    private let watch: ChainWatch
    private let tls: NIOSSLClientHandler
    private var held: [(data: NIOAny, promise: EventLoopPromise<Void>?)] = []
    private var isOpen = false

    init(_ trust: TrustContext, watch: ChainWatch, tls: NIOSSLClientHandler) {
        (self.trust, self.watch, self.tls) = (trust, watch, tls)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if isOpen { context.write(data, promise: promise) } else { held.append((data, promise)) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent, !isOpen { judge(context) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(data)
        // The server has answered, so it has accepted this client as well.
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(trust.sorted(error, watch: watch, isAgreed: isOpen))
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let error = trust.hangUp(underlying: nil, isAgreed: isOpen) { context.fireErrorCaught(error) }
        drop(ChannelError.ioOnClosedChannel)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { drop(ChannelError.ioOnClosedChannel) }

    private func judge(_ context: ChannelHandlerContext) {
        if let error = trust.verificationError(leaf: leaf) ?? trust.pinFailure(chain: watch.chain, now: Self.now) {
            drop(error)
            context.fireErrorCaught(error)
            context.close(promise: nil)
            return
        }
        isOpen = true
        let chain = watch.chain
        watch.forget()
        context.fireUserInboundEventTriggered(Passed(chain: chain, version: tls.tlsVersion.map(Self.words), advice: trust.advice))
        let waiting = held
        held = []
        for (data, promise) in waiting { context.write(data, promise: promise) }
        context.flush()
    }

    /// The time in seconds since 1970, for checks of certificates and pins.
    static var now: Int64 { Int64(time(nil)) }

    private var leaf: ServerCertificate? { (try? tls.peerCertificate?.toDERBytes()).flatMap { ServerCertificate(der: $0) } }

    private static func words(_ version: TLSVersion) -> String {
        switch version {
        case .tlsv1: "1.0"
        case .tlsv11: "1.1"
        case .tlsv12: "1.2"
        case .tlsv13: "1.3"
        }
    }

    private func drop(_ error: any Error) {
        for (_, promise) in held { promise?.fail(error) }
        held = []
    }
}
