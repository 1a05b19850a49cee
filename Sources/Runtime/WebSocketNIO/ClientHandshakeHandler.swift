import NIOCore
import WebSocketCore
import WebSocketRuntime

/// The client's handshake over HTTP/1.1.
final class ClientHandshakeHandler: ClientHandshaking {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let handshake: ClientHandshake
    let options: ClientOptions
    let opened: EventLoopPromise<WebSocketChannel>
    var progress = ClientHandshakeProgress()
    private var head: HeadParser<ResponseHead>

    init(_ handshake: ClientHandshake, options: ClientOptions, opened: EventLoopPromise<WebSocketChannel>) {
        (self.handshake, self.options, self.opened) = (handshake, options, opened)
        head = HeadParser(limit: options.headLimit)
    }

    func channelActive(context: ChannelHandlerContext) {
        setDeadline(for: "upgrade", context)
        do throws(HandshakeFailure) {
            let request = ByteBuffer(bytes: try handshake.request.encoded())
            context.writeAndFlush(wrapOutboundOut(request), promise: nil)
            context.read()
        } catch {
            end(context, with: TransportError(.invalidConfiguration, "\(error)", underlying: error))
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        while !progress.isDone, buffer.readableBytes > 0 {
            guard progress.refusal == nil else { return readRefusal(buffer, context) }
            take(&buffer, context) { buffer throws(HandshakeFailure) in try buffer.readHead(&head) }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let passed = event as? TrustGate.Passed { progress.trustAdvice = passed.advice }
        context.fireUserInboundEventTriggered(event)
    }
}
