import NIOCore
import WebSocketCore
import WebSocketRuntime

/// How far a server is with the request of a connection, or of a stream.
enum ServerHandshakePhase {
    /// Nothing of a request has come yet, and the connection has had one before.
    case idle
    case head
    /// The app is asked; nothing is read meanwhile.
    case asking(Task<Void, Never>)
    /// The frames' handler is on its way: what comes meanwhile waits behind what came before.
    case opening
    /// Answered with plain HTTP: what still arrives is dropped until the client hangs up.
    case answered
    case done
}

/// A handler that judges a request, answers it, and makes way for the frames.
///
/// The handlers of HTTP/1.1 and HTTP/2 know how a head is read and written. A client that is slow with its head, or with TLS before it, is
/// dropped at the deadline.
protocol ServerHandshaking: ChannelInboundHandler, RemovableChannelHandler, Alarmed, SendableMetatype
where InboundIn == ByteBuffer, OutboundOut == ByteBuffer {
    typealias OnOpen = @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void
    typealias PlainResponse = ServerOptions.PlainResponse

    var options: ServerOptions { get }
    var local: LoopLocal { get }
    var onOpen: OnOpen { get }
    var phase: ServerHandshakePhase { get set }
    /// What came behind the head.
    var early: ByteBuffer { get set }
    var context: ChannelHandlerContext? { get set }
    /// When the connection began, or its present request; nil: it has not.
    var began: NIODeadline? { get set }

    /// Sees to a request that asks for no WebSocket.
    func takePlain(_ request: RequestHead, _ context: ChannelHandlerContext) throws(HandshakeFailure)
    /// Encodes the response, sends it, and calls ``open(_:for:sharesReads:_:respond:)``.
    func accept(_ agreement: Agreement, for request: RequestHead, _ context: ChannelHandlerContext) throws(HandshakeFailure)
    func answer(_ response: PlainResponse, to request: RequestHead?, _ context: ChannelHandlerContext)
}

extension ServerHandshaking {
    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(at: began ?? .now())
        context.read()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func alarmRang() {
        switch phase {
        case .answered, .idle: break
        case .head, .asking, .opening, .done: options.onOutcome?(.timedOut)
        }
        context?.close(promise: nil)
    }

    func begin(at moment: NIODeadline) {
        began = moment
        local.setAlarm(self, at: moment + TimeAmount(options.handshakeTimeout))
    }

    func end() {
        if case .asking(let task) = phase { task.cancel() }
        phase = .done
        local.removeAlarm(self)
    }

    /// Decides what becomes of a request.
    func judge(_ request: RequestHead, _ context: ChannelHandlerContext) {
        do throws(HandshakeFailure) {
            try request.checkTarget()
            let handshake: ServerHandshake
            do throws(HandshakeFailure) {
                handshake = try ServerHandshake(request)
            } catch  where error.kind == .notAnUpgrade {
                return try takePlain(request, context)
            }
            if let reason = options.origins.refusal(of: request, isSecure: options.isSecure) {
                options.onOutcome?(.declined)
                return answer(PlainResponse(forbidding: reason), to: request, context)
            }
            guard options.decide == nil else { return ask(about: request, handshake, context) }
            accept(handshake, context)
        } catch {
            refuse(request, error, context)
        }
    }

    func takePlain(_ request: RequestHead, _ context: ChannelHandlerContext) { ask(about: request, nil, context) }

    func refuse(_ request: RequestHead?, _ failure: HandshakeFailure, _ context: ChannelHandlerContext) {
        options.onOutcome?(.invalid)
        answer(PlainResponse(refusing: failure), to: request, context)
    }

    func ask(about request: RequestHead, _ handshake: ServerHandshake?, _ context: ChannelHandlerContext) {
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
            guard let handshake else { return }
            accept(handshake, subprotocol: subprotocol, headers: headers, context)
        }
    }

    private func accept(
        _ handshake: ServerHandshake, subprotocol: String? = nil, headers: HeaderFields = [:], _ context: ChannelHandlerContext
    ) {
        do throws(HandshakeFailure) {
            let deflate = options.connection.compression?.preferences
            try accept(try handshake.accept(subprotocol: subprotocol, deflate: deflate, headers: headers), for: handshake.request, context)
        } catch {
            refuse(handshake.request, error, context)
        }
    }

    /// Opens the WebSocket, and makes way for its frames.
    func open(
        _ agreement: Agreement, for request: RequestHead, sharesReads: Bool, _ context: ChannelHandlerContext, respond: () -> Void
    ) {
        end()
        phase = .opening
        let peer = context.channel.remoteAddress
        // All that this connection is to begin with leaves in one turn.
        local.beginTurn()
        defer { local.endTurn() }
        respond()
        do {
            let socket = try WebSocketChannel.install(
                on: context.channel, agreement: agreement, settings: options.connection, position: .after(self),
                lease: nil, local: local, sharesReads: sharesReads, inline: options.inline?(request, peer))
            options.onOutcome?(.opened(after: .nanoseconds((.now() - (began ?? .now())).nanoseconds)))
            onOpen(socket, request, peer)
            phase = .done
            if early.readableBytes > 0 {
                context.fireChannelRead(NIOAny(early))
                context.fireChannelReadComplete()
            }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            end()
            context.close(promise: nil)
        }
    }
}
