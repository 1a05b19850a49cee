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

    /// Told to those behind it: the chain, the server's own certificate first.
    struct Passed: Sendable { let chain: [ServerCertificate] }

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
        context.fireErrorCaught(errand.sorted(error, watch: watch))
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let error = errand.hangUp(underlying: nil) { context.fireErrorCaught(error) }
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
        context.fireUserInboundEventTriggered(Passed(chain: chain))
        let waiting = held
        held = []
        for (data, promise) in waiting { context.write(data, promise: promise) }
        context.flush()
    }

    /// Seconds since 1970: what certificates and pins are held against.
    static var now: Int64 { Int64(time(nil)) }

    private var leaf: ServerCertificate? { (try? tls.peerCertificate?.toDERBytes()).flatMap { ServerCertificate(der: $0) } }

    private func drop(_ error: any Error) {
        for (_, promise) in held { promise?.fail(error) }
        held = []
    }
}
