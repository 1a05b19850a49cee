import NIOCore
import WebSocketCore
import WebSocketRuntime

/// A handler that requests a WebSocket, checks the response, and then makes way for the frames.
///
/// The handlers of HTTP/1.1 and HTTP/2 implement how a head is sent and read.
protocol ClientHandshaking: ChannelInboundHandler, RemovableChannelHandler where InboundIn == ByteBuffer, OutboundOut == ByteBuffer {
    var handshake: ClientHandshake { get }
    var options: ClientOptions { get }
    var opened: EventLoopPromise<WebSocketChannel> { get }
    var progress: ClientHandshakeProgress { get set }
}

/// The progress of a client's handshake.
struct ClientHandshakeProgress {
    var refusal: (failure: HandshakeFailure, response: ResponseHead, body: RefusalBody)?
    var trustAdvice: String?
    var deadline: Scheduled<Void>?
    var isDone = false
}

extension ClientHandshaking {
    func channelReadComplete(context: ChannelHandlerContext) {
        if !progress.isDone { context.read() }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        endRefusal(context)
        end(context, with: TransportError(.lost, "\(options.url) hung up during the handshake"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        endRefusal(context)
        end(context, with: TransportError(handshaking: error, with: options.url))
    }

    func setDeadline(for request: String, _ context: ChannelHandlerContext) {
        let timeout = options.handshakeTimeout
        progress.deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) { [weak self] in
            guard let self else { return }
            endRefusal(context)
            end(context, with: TransportError(.timedOut, "\(options.url) did not answer the \(request) within \(timeout)"))
        }
    }

    /// Reads the head of a response, and opens the WebSocket if it was accepted; `rest` contains the bytes behind the head.
    func take(
        _ rest: inout ByteBuffer, _ context: ChannelHandlerContext,
        head: (inout ByteBuffer) throws(HandshakeFailure) -> ResponseHead?
    ) {
        do throws(HandshakeFailure) {
            guard let response = try head(&rest), !response.isInterim else { return }
            do throws(HandshakeFailure) {
                let agreement = try response.majorVersion == 2 ? handshake.checkTunnel(response) : handshake.check(response)
                open(agreement, rest, context)
            } catch  where error.kind == .refused {
                progress.refusal = (error, response, RefusalBody(of: response, limit: options.refusalBodyLimit))
                readRefusal(ByteBuffer(), context)
            }
        } catch {
            end(context, with: TransportError(.invalidHandshake, "\(options.url) sent an invalid handshake: \(error)", underlying: error))
        }
    }

    func readRefusal(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        bytes.withUnsafeReadableBytes { _ = progress.refusal?.body.append($0) }
        if progress.refusal?.body.isComplete == true { endRefusal(context) }
    }

    func endRefusal(_ context: ChannelHandlerContext) {
        guard let refusal = progress.refusal else { return }
        let advice = [400, 403].contains(refusal.response.status) ? progress.trustAdvice.map { "; \($0)" } : nil
        var error = TransportError(
            .refused, "\(options.url) refused the upgrade: \(refusal.response)\(advice ?? "")", underlying: refusal.failure)
        (error.response, error.body) = (refusal.response, refusal.body.bytes)
        end(context, with: error)
    }

    private func open(_ agreement: Agreement, _ rest: ByteBuffer, _ context: ChannelHandlerContext) {
        progress.isDone = true
        progress.deadline?.cancel()
        do {
            let isPlain = agreement.response.majorVersion == 1 && options.isPlain
            let socket = try WebSocketChannel.install(
                on: context.channel, agreement: agreement, settings: options.connection, position: .after(self),
                isPlain: isPlain, inline: options.inline?())
            opened.succeed(socket)
            if rest.readableBytes > 0 { context.fireChannelRead(NIOAny(rest)) }
            context.fireChannelReadComplete()
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            opened.fail(TransportError(.lost, "\(options.url) hung up during the handshake", underlying: error))
            context.close(promise: nil)
        }
    }

    func end(_ context: ChannelHandlerContext, with error: TransportError) {
        guard !progress.isDone else { return }
        progress.isDone = true
        progress.deadline?.cancel()
        opened.fail(error)
        context.close(promise: nil)
    }
}

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

extension ByteBuffer {
    /// Continues to read an HTTP head, and consumes the used bytes; returns nil if more are needed.
    mutating func readHead<Head: MessageHead>(_ parser: inout HeadParser<Head>) throws(HandshakeFailure) -> Head? {
        let result = readWithUnsafeReadableBytes { bytes in
            var rest = bytes
            let result = Result { () throws(HandshakeFailure) in try parser.parse(&rest) }
            return (bytes.count - rest.count, result)
        }
        return try result.get()
    }
}
