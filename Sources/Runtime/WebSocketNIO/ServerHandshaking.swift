package import NIOCore
package import WebSocketCore
import WebSocketRuntime

/// The progress of a server with the request of a connection, or of a stream.
enum ServerHandshakePhase {
    /// No byte of the next request has arrived on a connection that has had one before.
    case idle
    case head
    /// The app is deciding; nothing is read meanwhile.
    case asking(Task<Void, Never>)
    /// The frame handler is being added: bytes that arrive meanwhile wait behind the earlier ones.
    case opening
    /// Answered with plain HTTP: further input is dropped until the client closes.
    case answered
    case done
}

/// A handler that checks a request, answers it, and then makes way for the frames.
///
/// The handlers of HTTP/1.1 and HTTP/2 implement how a head is read and written. A client that sends its head too slowly, or that needs
/// too long for TLS before it, is dropped at the deadline.
protocol ServerHandshaking: ChannelInboundHandler, RemovableChannelHandler, Alarmed, SendableMetatype
where InboundIn == ByteBuffer, OutboundOut == ByteBuffer {
    typealias OnOpen = @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void
    typealias PlainResponse = ServerOptions.PlainResponse

    var options: ServerOptions { get }
    var local: LoopLocal { get }
    var onOpen: OnOpen { get }
    var phase: ServerHandshakePhase { get set }
    /// The bytes that arrived behind the head.
    var early: ByteBuffer { get set }
    var context: ChannelHandlerContext? { get set }
    /// When the connection, or its current request, began; nil if it has not begun.
    var began: NIODeadline? { get set }

    /// Handles a request that does not ask for a WebSocket.
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

    /// Decides how to answer a request.
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
        // Everything that this connection sends first leaves in one turn.
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

/// The server's handshake over HTTP/1.1; requests for anything else than a WebSocket may be passed to plain HTTP handlers.
final class ServerHandshakeHandler: ServerHandshaking {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The maximum size of input while the app decides, which arrives when the system delivers everything it has at the end.
    private static let mostEarly = 512 * 1024

    let options: ServerOptions
    let onOpen: OnOpen
    private var head: HeadParser<RequestHead>
    @exclusivity(unchecked) var phase = ServerHandshakePhase.head
    var early = ByteBuffer()
    @exclusivity(unchecked) var context: ChannelHandlerContext?
    private let arrivals: Arrivals
    let local: LoopLocal
    private var sharesReads = false
    private var lingering = LingeringClose()
    /// The permit of a connection that has had plain requests; released with the handler.
    private let permit: (any Sendable & AnyObject)?
    var began: NIODeadline?
    @exclusivity(unchecked) var alarmIndex: Int?

    /// - Parameters:
    ///
    ///   - arrivals: The arrivals of the channel's event loop.
    ///   - began: When the connection began if another handler has read from it before, or when its next request began.
    ///   - permit: The permit of a connection that has had plain requests; see ``goOn(with:)``.
    init(
        _ options: ServerOptions, at arrivals: Arrivals, began: NIODeadline? = nil, permit: (any Sendable & AnyObject)? = nil,
        onOpen: @escaping OnOpen
    ) {
        (self.began, self.permit, self.arrivals) = (began, permit, arrivals)
        (self.options, self.onOpen, local) = (options, onOpen, arrivals.local)
        head = HeadParser(limit: options.headLimit)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        guard !options.isSecure else {
            return WebSocketChannel.setMessagesPerRead(of: context.channel, to: options.guests == nil ? nil : 1)
        }
        sharesReads = WebSocketChannel.shareReads(
            of: context.channel, local, hasRead: began != nil || permit != nil, inSmallPieces: options.guests != nil)
    }

    /// Reads the next request of a connection that has had plain ones, beginning with `bytes`; called once it is in the pipeline.
    func goOn(with bytes: ByteBuffer) {
        guard let context, let guests = options.guests else { return }
        phase = .idle
        local.setAlarm(self, at: .now() + TimeAmount(guests.times.idle))
        if bytes.readableBytes > 0 { take(bytes, context) }
        switch phase {
        case .idle, .head: context.read()
        case .asking, .opening, .answered, .done: break
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        defer { if sharesReads { local.give(input: buffer) } }
        take(buffer, context)
    }

    private func take(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        var buffer = bytes
        switch phase {
        case .head: break
        case .idle:
            phase = .head
            begin(at: .now())
        case .asking, .opening:
            early.writeBuffer(&buffer)
            if early.readableBytes > Self.mostEarly { context.close(promise: nil) }
            return
        case .answered:
            if !lingering.drop(buffer.readableBytes) { context.close(promise: nil) }
            return
        case .done: return
        }
        do throws(HandshakeFailure) {
            guard let request = try buffer.readHead(&head) else { return }
            if buffer.readableBytes > 0 { early = sharesReads ? ByteBuffer(bytes: buffer.readableBytesView) : buffer }
            judge(request, context)
        } catch {
            refuse(nil, error, context)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        switch phase {
        case .idle, .head, .answered: context.read()
        case .asking, .opening, .done: break
        }
        context.fireChannelReadComplete()
    }

    /// Passes the request to a plain HTTP handler, if there is a permit; the next request comes to a new handler of this type.
    func takePlain(_ request: RequestHead, _ context: ChannelHandlerContext) throws(HandshakeFailure) {
        guard let guests = options.guests, let permit = permit ?? guests.permit(context.channel) else {
            return ask(about: request, nil, context)
        }
        let body = try BodyReader(of: request)
        end()
        let handler = PlainExchangeHandler(
            request, body: body, rest: early, began: began ?? .now(), for: guests, on: local
        ) { [options, arrivals, onOpen] in ServerHandshakeHandler(options, at: arrivals, began: $0, permit: permit, onOpen: onOpen) }
        early = ByteBuffer()
        do {
            try context.pipeline.syncOperations.addHandler(handler, position: .after(self))
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            handler.start()
        } catch {
            context.close(promise: nil)
        }
    }

    func accept(_ agreement: Agreement, for request: RequestHead, _ context: ChannelHandlerContext) throws(HandshakeFailure) {
        let response = ByteBuffer(bytes: try agreement.response.encoded())
        open(agreement, for: request, sharesReads: sharesReads, context) {
            context.writeAndFlush(wrapOutboundOut(response), promise: nil)
            // Until now the connection was read in small pieces.
            guard options.guests != nil else { return }
            if sharesReads { _ = WebSocketChannel.shareReads(of: context.channel, local, hasRead: true) }
            if options.isSecure { WebSocketChannel.setMessagesPerRead(of: context.channel, to: WebSocketChannel.messagesPerRead) }
        }
    }

    func answer(_ response: PlainResponse, to request: RequestHead?, _ context: ChannelHandlerContext) {
        phase = .answered
        early = ByteBuffer()
        var head = response.sizedHead
        head.headers["Connection"] = head.headers["Upgrade"] == nil ? "close" : "Upgrade, close"
        var bytes = Self.internalError
        if let encoded = try? head.encoded() {
            bytes = request?.method == "HEAD" || response.isBodiless ? encoded : encoded + response.body
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
        // Closing at once with unread input would reset TCP and could destroy the response in flight.
        let closed = context.eventLoop.makePromise(of: Void.self)
        closed.futureResult.assumeIsolated().whenFailure { _ in context.close(promise: nil) }
        context.close(mode: .output, promise: closed)
        context.read()
    }

    private static let internalError = Array("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
}

extension ServerOptions {
    /// Creates the first handler of an HTTP/1.1 connection.
    package func handshakeHandler(
        at arrivals: Arrivals, onOpen: @escaping @Sendable (WebSocketChannel, RequestHead, SocketAddress?) -> Void
    ) -> any ChannelHandler {
        ServerHandshakeHandler(self, at: arrivals, onOpen: onOpen)
    }
}
