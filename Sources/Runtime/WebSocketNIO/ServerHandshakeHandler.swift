package import NIOCore
package import WebSocketCore
import WebSocketRuntime

/// Reads a request, asks what is to become of it, answers, and makes way for the frames.
///
/// A client that is slow with its head, or with TLS before it, is dropped at the deadline.
package final class ServerHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler, Alarmed {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private enum Phase {
        case head
        /// The app is asked; nothing is read meanwhile.
        case asking(Task<Void, Never>)
        /// Answered with plain HTTP: what still arrives is dropped until the client hangs up.
        case answered
        case done
    }

    private let options: ServerOptions
    private let onOpen: @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void
    private var head: HeadParser<RequestHead>
    @exclusivity(unchecked) private var phase = Phase.head
    private var early = ByteBuffer()
    /// All that was read of the head, for another server to read it again.
    private var original = ByteBuffer()
    @exclusivity(unchecked) private var context: ChannelHandlerContext?
    private let local: LoopLocal
    private var sharesReads = false
    /// When the connection began; nil: it has not.
    private var began: NIODeadline?
    @exclusivity(unchecked) var alarmIndex: Int?

    /// - Parameters:
    ///   - arrivals: Those of the channel's event loop.
    ///   - began: When a connection began that others have read from before.
    package init(
        _ options: ServerOptions, at arrivals: Arrivals, began: NIODeadline? = nil,
        onOpen: @escaping @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void
    ) {
        self.began = began
        (self.options, self.onOpen, local) = (options, onOpen, arrivals.local)
        head = HeadParser(limit: options.headLimit)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        sharesReads = !options.isSecure && WebSocketChannel.shareReads(of: context.channel, local, hasRead: began != nil)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    package func channelActive(context: ChannelHandlerContext) {
        let began = began ?? .now()
        self.began = began
        local.setAlarm(self, at: began + TimeAmount(options.handshakeTimeout))
        context.read()
        context.fireChannelActive()
    }

    func alarmRang() {
        if case .answered = phase {} else { options.onOutcome?(.timedOut) }
        context?.close(promise: nil)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        defer { if sharesReads { local.give(input: buffer) } }
        guard case .head = phase else {
            if case .asking = phase { early.writeBuffer(&buffer) }
            return
        }
        if options.handOver != nil { original.writeImmutableBuffer(buffer) }
        do throws(HandshakeFailure) {
            guard let request = try buffer.readHead(&head) else { return }
            if buffer.readableBytes > 0 { early = sharesReads ? ByteBuffer(bytes: buffer.readableBytesView) : buffer }
            try take(request, context)
        } catch {
            options.onOutcome?(.invalid)
            answer(PlainResponse(refusing: error), to: nil, context)
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        switch phase {
        case .head, .answered: context.read()
        case .asking, .done: break
        }
        context.fireChannelReadComplete()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private typealias PlainResponse = ServerOptions.PlainResponse

    private func take(_ request: RequestHead, _ context: ChannelHandlerContext) throws(HandshakeFailure) {
        let handshake = try ServerOptions.handshake(of: request)
        if handshake == nil, let handOver = options.handOver { return makeWay(context, handOver) }
        original = ByteBuffer()
        guard let handshake, options.decide == nil else { return ask(about: request, handshake, context) }
        try accept(handshake, subprotocol: nil, headers: [:], context)
    }

    private func ask(about request: RequestHead, _ handshake: ServerHandshake?, _ context: ChannelHandlerContext) {
        let (loop, peer) = (context.eventLoop, context.channel.remoteAddress)
        let this = NIOLoopBound((self, context), eventLoop: loop)
        // SAFETY: cancelled when the channel ends, which the deadline ensures.
        phase = .asking(
            Task { [options] in
                let decision = await options.decision(on: request, handshake, from: peer)
                loop.execute { this.value.0.decided(decision, request, handshake, this.value.1) }
            })
    }

    private func decided(
        _ decision: ServerOptions.Decision, _ request: RequestHead, _ handshake: ServerHandshake?, _ context: ChannelHandlerContext
    ) {
        guard case .asking = phase else { return }
        switch decision {
        case .answer(let response):
            if handshake != nil { options.onOutcome?(.declined) }
            answer(response, to: request, context)
        case .accept(let subprotocol, let headers):
            do throws(HandshakeFailure) {
                guard let handshake else { return }
                try accept(handshake, subprotocol: subprotocol, headers: headers, context)
            } catch {
                options.onOutcome?(.invalid)
                answer(PlainResponse(refusing: error), to: request, context)
            }
        }
    }

    private func accept(
        _ handshake: ServerHandshake, subprotocol: String?, headers: HeaderFields, _ context: ChannelHandlerContext
    ) throws(HandshakeFailure) {
        let deflate = options.connection.compression?.preferences
        let agreement = try handshake.accept(subprotocol: subprotocol, deflate: deflate, headers: headers)
        let response = try agreement.response.encoded()
        open(agreement, response, handshake.request, context)
    }

    private func open(_ agreement: Agreement, _ response: [UInt8], _ request: RequestHead, _ context: ChannelHandlerContext) {
        end()
        let peer = context.channel.remoteAddress
        // All that this connection is to begin with leaves in one turn.
        local.beginTurn()
        defer { local.endTurn() }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: response)), promise: nil)
        do {
            let socket = try WebSocketChannel.install(
                on: context.channel, agreement: agreement, settings: options.connection, position: .after(self),
                lease: nil, local: local, sharesReads: sharesReads, inline: options.inline?(request, peer))
            options.onOutcome?(.opened(after: .nanoseconds((.now() - (began ?? .now())).nanoseconds)))
            onOpen(socket, request, peer)
            if early.readableBytes > 0 {
                context.fireChannelRead(NIOAny(early))
                context.fireChannelReadComplete()
            }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    /// Lets another server have the connection, and all that came on it.
    private func makeWay(_ context: ChannelHandlerContext, _ handOver: @Sendable (any Channel) throws -> Void) {
        end()
        do {
            try WebSocketChannel.keepReads(of: context.channel)
            try handOver(context.channel)
            context.fireChannelRead(wrapInboundOut(original))
            context.fireChannelReadComplete()
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            // What comes next is read as the other server likes it.
            try context.channel.syncOptions?.setOption(.autoRead, value: true)
        } catch {
            context.close(promise: nil)
        }
    }

    private func answer(_ response: PlainResponse, to request: RequestHead?, _ context: ChannelHandlerContext) {
        phase = .answered
        early = ByteBuffer()
        var head = response.sizedHead
        head.headers["Connection"] = head.headers["Upgrade"] == nil ? "close" : "Upgrade, close"
        var bytes = Self.internalError
        if let encoded = try? head.encoded() {
            bytes = request?.method == "HEAD" || response.isBodiless ? encoded : encoded + response.body
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
        // Closing at once with unread input would reset TCP and could destroy the answer on its way.
        let closed = context.eventLoop.makePromise(of: Void.self)
        closed.futureResult.assumeIsolated().whenFailure { _ in context.close(promise: nil) }
        context.close(mode: .output, promise: closed)
        context.read()
    }

    private func end() {
        if case .asking(let task) = phase { task.cancel() }
        phase = .done
        local.removeAlarm(self)
    }

    private static let internalError = Array("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
}
