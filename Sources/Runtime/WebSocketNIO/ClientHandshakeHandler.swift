import NIOCore
import WebSocketCore
import WebSocketRuntime

/// Sends the upgrade request, checks the answer, and makes way for the frames.
final class ClientHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let handshake: ClientHandshake
    private let options: ClientOptions
    private let opened: EventLoopPromise<WebSocketChannel>
    private var head: HeadParser<ResponseHead>
    private var refusal: (failure: HandshakeFailure, response: ResponseHead, body: RefusalBody)?
    private var trustAdvice: String?
    private var deadline: Scheduled<Void>?
    private var isDone = false

    init(_ handshake: ClientHandshake, options: ClientOptions, opened: EventLoopPromise<WebSocketChannel>) {
        (self.handshake, self.options, self.opened) = (handshake, options, opened)
        head = HeadParser(limit: options.headLimit)
    }

    func channelActive(context: ChannelHandlerContext) {
        let timeout = options.handshakeTimeout
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) { [weak self] in
            guard let self else { return }
            guard refusal == nil else { return endRefusal(context) }
            end(context, with: TransportError(.timedOut, "\(options.url) did not answer the upgrade within \(timeout)"))
        }
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
        guard !isDone else { return }
        var buffer = unwrapInboundIn(data)
        while !isDone, buffer.readableBytes > 0 {
            if refusal == nil { readHead(&buffer, context) } else { readRefusal(&buffer, context) }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let passed = event as? TrustGate.Passed { trustAdvice = passed.advice }
        context.fireUserInboundEventTriggered(event)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !isDone { context.read() }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if refusal != nil { endRefusal(context) }
        end(context, with: TransportError(.lost, "\(options.url) hung up during the handshake"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if refusal != nil { endRefusal(context) }
        end(context, with: TransportError(handshaking: error, with: options.url))
    }

    private func readHead(_ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) {
        do throws(HandshakeFailure) {
            let response = try buffer.readHead(&head)
            guard let response, !response.isInterim else { return }
            do throws(HandshakeFailure) {
                open(try handshake.check(response), buffer, context)
            } catch  where error.kind == .refused {
                refusal = (error, response, RefusalBody(of: response, limit: options.refusalBodyLimit))
                var nothing = ByteBuffer()
                readRefusal(&nothing, context)
            }
        } catch {
            end(context, with: TransportError(.invalidHandshake, "\(options.url) sent an invalid handshake: \(error)", underlying: error))
        }
    }

    private func readRefusal(_ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) {
        buffer.readWithUnsafeReadableBytes { bytes in
            _ = refusal?.body.append(bytes)
            return bytes.count
        }
        if refusal?.body.isComplete == true { endRefusal(context) }
    }

    private func endRefusal(_ context: ChannelHandlerContext) {
        guard let refusal else { return }
        let advice = [400, 403].contains(refusal.response.status) ? trustAdvice.map { "; \($0)" } : nil
        var error = TransportError(
            .refused, "\(options.url) refused the upgrade: \(refusal.response)\(advice ?? "")", underlying: refusal.failure)
        (error.response, error.body) = (refusal.response, refusal.body.bytes)
        end(context, with: error)
    }

    private func open(_ agreement: Agreement, _ rest: ByteBuffer, _ context: ChannelHandlerContext) {
        isDone = true
        deadline?.cancel()
        do {
            let socket = try WebSocketChannel.install(
                on: context.channel, agreement: agreement, settings: options.connection, position: .after(self),
                isPlain: options.isPlain, inline: options.inline?())
            opened.succeed(socket)
            if rest.readableBytes > 0 { context.fireChannelRead(NIOAny(rest)) }
            context.fireChannelReadComplete()
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            opened.fail(TransportError(.lost, "\(options.url) hung up during the handshake", underlying: error))
            context.close(promise: nil)
        }
    }

    private func end(_ context: ChannelHandlerContext, with error: TransportError) {
        guard !isDone else { return }
        isDone = true
        deadline?.cancel()
        opened.fail(error)
        context.close(promise: nil)
    }
}
