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
        case answered(Lingering)
        case done
    }

    /// What a client may send at most while the app is asked, when its system hands over all it has at its end.
    private static let mostEarly = 512 * 1024

    private let options: ServerOptions
    private let onOpen: @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void
    private var head: HeadParser<RequestHead>
    @exclusivity(unchecked) private var phase = Phase.head
    private var early = ByteBuffer()
    @exclusivity(unchecked) private var context: ChannelHandlerContext?
    private let arrivals: Arrivals
    private let local: LoopLocal
    private var sharesReads = false
    /// That of a connection that has had plain requests; it is let go of with the handler.
    private let seat: (any Sendable & AnyObject)?
    /// Nothing of a request has come yet, and the connection has had one before.
    private var isIdle = false
    /// When the connection began; nil: it has not.
    private var began: NIODeadline?
    @exclusivity(unchecked) var alarmIndex: Int?

    /// - Parameters:
    ///   - arrivals: Those of the channel's event loop.
    ///   - began: When a connection began that others have read from before, or its next request.
    ///   - seat: That of a connection that has had plain requests; see ``goOn(with:)``.
    package init(
        _ options: ServerOptions, at arrivals: Arrivals, began: NIODeadline? = nil, seat: (any Sendable & AnyObject)? = nil,
        onOpen: @escaping @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void
    ) {
        (self.began, self.seat, self.arrivals) = (began, seat, arrivals)
        (self.options, self.onOpen, local) = (options, onOpen, arrivals.local)
        head = HeadParser(limit: options.headLimit)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        guard !options.isSecure else {
            return WebSocketChannel.setMessagesPerRead(of: context.channel, to: options.guests == nil ? nil : 1)
        }
        sharesReads = WebSocketChannel.shareReads(
            of: context.channel, local, hasRead: began != nil || seat != nil, inSmallPieces: options.guests != nil)
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

    /// Reads the next request of a connection that has had plain ones, whose first bytes may be there; once it is in the pipeline.
    func goOn(with bytes: ByteBuffer) {
        guard let context, let guests = options.guests else { return }
        isIdle = true
        local.setAlarm(self, at: .now() + TimeAmount(guests.times.idle))
        if bytes.readableBytes > 0 { take(bytes, context) }
        if case .head = phase { context.read() }
    }

    func alarmRang() {
        if case .answered = phase {} else if !isIdle { options.onOutcome?(.timedOut) }
        context?.close(promise: nil)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        defer { if sharesReads { local.give(input: buffer) } }
        take(buffer, context)
    }

    private func take(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        var buffer = bytes
        switch phase {
        case .head: break
        case .asking:
            early.writeBuffer(&buffer)
            if early.readableBytes > Self.mostEarly { context.close(promise: nil) }
            return
        case .answered(var lingering):
            if !lingering.drop(buffer.readableBytes) { context.close(promise: nil) }
            return phase = .answered(lingering)
        case .done: return
        }
        if isIdle {
            isIdle = false
            let began = NIODeadline.now()
            self.began = began
            local.setAlarm(self, at: began + TimeAmount(options.handshakeTimeout))
        }
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
        if handshake == nil, let guests = options.guests, let seat = seat ?? guests.seat(context.channel) {
            return makeWay(request, try BodyReader(of: request), guests, seat, context)
        }
        if handshake != nil, let reason = options.origins.refusal(of: request, isSecure: options.isSecure) {
            options.onOutcome?(.declined)
            return answer(PlainResponse(forbidding: reason), to: request, context)
        }
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
            // So far it was read in small pieces.
            if options.guests != nil {
                if sharesReads { _ = WebSocketChannel.shareReads(of: context.channel, local, hasRead: true) }
                if options.isSecure { WebSocketChannel.setMessagesPerRead(of: context.channel, to: WebSocketChannel.messagesPerRead) }
            }
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

    /// Lets somebody else answer the request; the next one comes to a handler like this one.
    private func makeWay(
        _ request: RequestHead, _ body: BodyReader, _ guests: PlainGuests, _ seat: any Sendable & AnyObject,
        _ context: ChannelHandlerContext
    ) {
        end()
        let handler = PlainExchangeHandler(
            request, body: body, rest: early, began: began ?? .now(), for: guests, on: local
        ) { [options, arrivals, onOpen] in ServerHandshakeHandler(options, at: arrivals, began: $0, seat: seat, onOpen: onOpen) }
        early = ByteBuffer()
        do {
            try context.pipeline.syncOperations.addHandler(handler, position: .after(self))
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            handler.start()
        } catch {
            context.close(promise: nil)
        }
    }

    private func answer(_ response: PlainResponse, to request: RequestHead?, _ context: ChannelHandlerContext) {
        phase = .answered(Lingering())
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
