import NIOCore
import WebSocketCore
import WebSocketRuntime

/// Handles one plain HTTP request and its response, and then makes way for the handler of the next request.
///
/// The connection is read only while a task waits for the request's body: other data stays in the system's buffers, and finally slows the
/// client down. A client that sends its request, or accepts the response, too slowly is dropped at the deadline.
final class PlainExchangeHandler: ChannelInboundHandler, RemovableChannelHandler, Alarmed {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How the end of the response is marked.
    private enum Framing { case none, length(Int), chunks, close }
    private enum Phase {
        case request
        case answer(Framing)
        /// The response was sent; further input is dropped until the client closes.
        case lingering(LingeringClose)
        case done
    }

    /// The maximum size of unrequested input, which arrives when the system delivers everything it has at the end.
    private static let mostPending = 512 * 1024

    private let request: RequestHead
    private let guests: PlainGuests
    private let successor: (NIODeadline?) -> ServerHandshakeHandler
    private let local: LoopLocal
    private var body: BodyReader
    private var pending: ByteBuffer
    private var phase = Phase.request
    /// The task that waits for a part of the body.
    private var waiter: EventLoopPromise<ByteBuffer?>?
    /// Whether the request's deadline has passed before a task waited.
    private var isLate = false
    private var wantsContinue: Bool
    /// Whether the connection takes no more requests after this one.
    private var isLast: Bool
    private let deadline: NIODeadline
    private var context: ChannelHandlerContext?
    var alarmIndex: Int?

    /// - Parameters:
    ///
    ///   - request: The head of the request.
    ///   - body: Finds the end of its body.
    ///   - rest: The bytes read after the head.
    ///   - began: The time at which the request began.
    ///   - successor: Creates the handler of the next request.
    init(
        _ request: RequestHead, body: BodyReader, rest: ByteBuffer, began: NIODeadline, for guests: PlainGuests, on local: LoopLocal,
        successor: @escaping (NIODeadline?) -> ServerHandshakeHandler
    ) {
        (self.request, self.body, pending, self.guests, self.local, self.successor) = (request, body, rest, guests, local, successor)
        deadline = began + TimeAmount(guests.times.request)
        wantsContinue = request.minorVersion >= 1 && request.headers.contains("100-continue", in: "Expect")
        isLast = request.minorVersion == 0 || request.headers.contains("close", in: "Connection")
    }

    /// Starts the answering task; called once the handler is in the pipeline.
    func start() {
        guard let context else { return }
        if !body.isAtEnd { local.setAlarm(self, at: deadline) }
        if !guests.take(PlainExchange(request, self, on: context.channel)) { context.close(promise: nil) }
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    // MARK: - Request

    func nextPart() -> EventLoopFuture<ByteBuffer?> {
        let promise = local.loop.makePromise(of: ByteBuffer?.self)
        guard let context, waiter == nil, case .request = phase else {
            promise.fail(PlainExchange.Failure.over)
            return promise.futureResult
        }
        waiter = promise
        if isLate { notifyTooSlow() } else { serveWaiter(context) }
        return promise.futureResult
    }

    private func serveWaiter(_ context: ChannelHandlerContext) {
        guard let promise = waiter else { return }
        do throws(HandshakeFailure) {
            let part = try takePart()
            if part == nil, !body.isAtEnd {
                sendContinue(context)
                return context.read()
            }
            waiter = nil
            if body.isAtEnd { local.removeAlarm(self) }
            promise.succeed(part)
        } catch {
            waiter = nil
            isLast = true
            promise.fail(error)
        }
    }

    /// Returns available content of the body; nil if there is none.
    private func takePart() throws(HandshakeFailure) -> ByteBuffer? {
        while true {
            let step = pending.withUnsafeReadableBytes { bytes in Result { () throws(HandshakeFailure) in try body.next(bytes) } }
            switch try step.get() {
            case .content(let count): return pending.readSlice(length: count)
            case .framing(let count): pending.moveReaderIndex(forwardBy: count)
            case .more, .end: return nil
            }
        }
    }

    /// Sends 100 Continue, RFC 9110 §10.1.1.
    private func sendContinue(_ context: ChannelHandlerContext) {
        guard wantsContinue else { return }
        wantsContinue = false
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
    }

    private func notifyTooSlow() {
        isLate = true
        isLast = true
        waiter.take()?.fail(PlainExchange.Failure.tooSlow)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if case .lingering(var lingering) = phase {
            if !lingering.drop(bytes.readableBytes) { context.close(promise: nil) }
            return phase = .lingering(lingering)
        }
        guard pending.readableBytes + bytes.readableBytes <= Self.mostPending else { return context.close(promise: nil) }
        if pending.readableBytes == 0 { pending = bytes } else { pending.writeBuffer(&bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if case .lingering = phase { context.read() } else { serveWaiter(context) }
        context.fireChannelReadComplete()
    }

    // MARK: - Response

    func begin(_ head: ResponseHead, length: Int?) -> EventLoopFuture<Void> {
        guard let context, case .request = phase else { return over() }
        // A small body may have arrived completely.
        do throws(HandshakeFailure) { while try takePart() != nil {} } catch { isLast = true }
        if !body.isAtEnd { isLast = true }
        local.removeAlarm(self)
        var (head, framing) = (head, Framing.none)
        head.headers["Transfer-Encoding"] = nil
        if request.method == "HEAD" || head.status == 204 || head.status == 304 {
            if request.method != "HEAD" { head.headers["Content-Length"] = nil }
        } else if let length {
            head.headers["Content-Length"] = "\(length)"
            framing = .length(length)
        } else {
            head.headers["Content-Length"] = nil
            framing = request.minorVersion >= 1 ? .chunks : .close
            if case .chunks = framing { head.headers["Transfer-Encoding"] = "chunked" } else { isLast = true }
        }
        head.headers["Connection"] = isLast ? "close" : nil
        guard let bytes = try? head.encoded() else {
            context.close(promise: nil)
            return over()
        }
        phase = .answer(framing)
        context.write(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
        if length == nil { context.flush() }
        return local.loop.makeSucceededVoidFuture()
    }

    func write(_ piece: ByteBuffer) -> EventLoopFuture<Void> {
        guard let context, case .answer(let framing) = phase else { return over() }
        switch framing {
        case .none: return local.loop.makeSucceededVoidFuture()
        case .length(let left):
            guard piece.readableBytes <= left else {
                context.close(promise: nil)
                return over()
            }
            phase = .answer(.length(left - piece.readableBytes))
        case .chunks:
            context.write(wrapOutboundOut(ByteBuffer(string: "\(String(piece.readableBytes, radix: 16))\r\n")), promise: nil)
            context.write(wrapOutboundOut(piece), promise: nil)
            return send(ByteBuffer(string: "\r\n"), context)
        case .close: break
        }
        return send(piece, context)
    }

    func finish() -> EventLoopFuture<Void> {
        guard let context, case .answer(let framing) = phase else { return over() }
        var last = ByteBuffer()
        switch framing {
        case .none, .close: break
        case .chunks: last.writeStaticString("0\r\n\r\n")
        case .length(let left):
            guard left == 0 else {
                context.close(promise: nil)
                return over()
            }
        }
        let sent = send(last, context)
        sent.assumeIsolated().whenSuccess { [self] in conclude() }
        return sent
    }

    /// Sends everything written so far and these bytes, which must be sent in time.
    private func send(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        let promise = local.loop.makePromise(of: Void.self)
        local.setAlarm(self, at: .now() + TimeAmount(guests.times.write))
        promise.futureResult.assumeIsolated().whenComplete { [self] _ in local.removeAlarm(self) }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
        return promise.futureResult
    }

    /// See ``PlainExchange/conclude()``.
    func abandon() {
        switch phase {
        case .request:
            isLast = true
            _ = begin(ResponseHead(status: 500), length: 0)
            _ = finish()
        case .answer: context?.close(promise: nil)
        case .lingering, .done: break
        }
    }

    private func over<Value: Sendable>() -> EventLoopFuture<Value> { local.loop.makeFailedFuture(PlainExchange.Failure.over) }

    // MARK: - End

    private func conclude() {
        guard let context else { return }
        guard !isLast else {
            guests.onEnd(context.channel)
            return linger(context)
        }
        end()
        guests.onEnd(context.channel)
        let next = successor(pending.readableBytes > 0 ? .now() : nil)
        do {
            try context.pipeline.syncOperations.addHandler(next, position: .after(self))
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            next.goOn(with: pending)
        } catch {
            context.close(promise: nil)
        }
    }

    /// Lingers, because closing at once with unread input would reset TCP and could destroy the response in flight.
    private func linger(_ context: ChannelHandlerContext) {
        var lingering = LingeringClose()
        let fits = lingering.drop(pending.readableBytes)
        (phase, pending) = (.lingering(lingering), ByteBuffer())
        guard fits else { return context.close(promise: nil) }
        local.setAlarm(self, at: .now() + LingeringClose.time)
        let closed = context.eventLoop.makePromise(of: Void.self)
        closed.futureResult.assumeIsolated().whenFailure { _ in context.close(promise: nil) }
        context.close(mode: .output, promise: closed)
        context.read()
    }

    func alarmRang() {
        if case .request = phase { notifyTooSlow() } else { context?.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { isLast = true }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        switch phase {
        case .request, .answer: guests.onEnd(context.channel)
        case .lingering, .done: break
        }
        end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func end() {
        phase = .done
        waiter.take()?.fail(PlainExchange.Failure.over)
        local.removeAlarm(self)
    }
}

/// The input that is still read and dropped after the response.
struct LingeringClose {
    /// How long the client may take to close.
    static let time = TimeAmount.seconds(2)
    private var left = 4 << 20

    /// Drops the given number of bytes; returns false if the limit is exceeded.
    mutating func drop(_ count: Int) -> Bool {
        left -= count
        return left >= 0
    }
}
