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

/// Holds what is written until the server is trusted, and says what is wrong with it if it is not; leaves with the first bytes that come.
final class TrustGate: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Told to those behind it.
    struct Passed: Sendable {
        /// The server's own certificate first.
        let chain: [ServerCertificate]
        /// Of TLS, such as `1.3`.
        let version: String?
        /// What to say if the server refuses what it is asked next; nil: nothing of TLS.
        ///
        /// nginx and Apache take any client at first, and answer 400 or 403 to one without their certificate.
        let advice: String?
    }

    private let errand: TrustErrand
    private let watch: ChainWatch
    private let tls: NIOSSLClientHandler
    private var held: [(data: NIOAny, promise: EventLoopPromise<Void>?)] = []
    private var isOpen = false

    init(_ errand: TrustErrand, watch: ChainWatch, tls: NIOSSLClientHandler) {
        (self.errand, self.watch, self.tls) = (errand, watch, tls)
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
        // The server has answered, so it took us as well.
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(errand.sorted(error, watch: watch, isAgreed: isOpen))
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let error = errand.hangUp(underlying: nil, isAgreed: isOpen) { context.fireErrorCaught(error) }
        drop(ChannelError.ioOnClosedChannel)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { drop(ChannelError.ioOnClosedChannel) }

    private func judge(_ context: ChannelHandlerContext) {
        if let error = errand.mistrust(leaf: leaf) ?? errand.pinFailure(chain: watch.chain, now: Self.now) {
            drop(error)
            context.fireErrorCaught(error)
            context.close(promise: nil)
            return
        }
        isOpen = true
        let chain = watch.chain
        watch.forget()
        context.fireUserInboundEventTriggered(Passed(chain: chain, version: tls.tlsVersion.map(Self.words), advice: errand.advice))
        let waiting = held
        held = []
        for (data, promise) in waiting { context.write(data, promise: promise) }
        context.flush()
    }

    /// Seconds since 1970: what certificates and pins are held against.
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
