import NIOCore
import WebSocketCore
import WebSocketRuntime

/// Carries one request of plain HTTP and its answer, and makes way for the handler of the next.
///
/// The connection is read only while somebody waits for the request's body: what a client sends ahead stays with the system, and so at last
/// with the client. A client that is slow with its request, or in taking the answer, is dropped at the deadline.
final class PlainExchangeHandler: ChannelInboundHandler, RemovableChannelHandler, Alarmed {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How the client knows where the answer ends.
    private enum Framing { case none, length(Int), chunks, close }
    private enum Phase {
        case request
        case answer(Framing)
        /// The answer has left; whatever still arrives is dropped until the client hangs up.
        case lingering(Lingering)
        case done
    }

    /// What a client may send at most that nobody has asked for, when its system hands over all it has at its end.
    private static let mostPending = 512 * 1024

    private let request: RequestHead
    private let guests: PlainGuests
    private let successor: (NIODeadline?) -> ServerHandshakeHandler
    private let local: LoopLocal
    private var body: BodyReader
    private var pending: ByteBuffer
    private var phase = Phase.request
    /// Whoever waits for some of the body.
    private var waiter: EventLoopPromise<ByteBuffer?>?
    /// The request's deadline has passed before somebody waited.
    private var isLate = false
    private var wantsContinue: Bool
    /// The connection has no more requests after this one.
    private var isLast: Bool
    private let deadline: NIODeadline
    private var context: ChannelHandlerContext?
    var alarmIndex: Int?

    /// - Parameters:
    ///   - request: What the client asks for.
    ///   - body: Finds the end of its body.
    ///   - rest: What was read after the head.
    ///   - began: When the request did.
    ///   - successor: Makes what reads the next request.
    init(
        _ request: RequestHead, body: BodyReader, rest: ByteBuffer, began: NIODeadline, for guests: PlainGuests, on local: LoopLocal,
        successor: @escaping (NIODeadline?) -> ServerHandshakeHandler
    ) {
        (self.request, self.body, pending, self.guests, self.local, self.successor) = (request, body, rest, guests, local, successor)
        deadline = began + TimeAmount(guests.times.request)
        wantsContinue = request.minorVersion >= 1 && request.headers.contains("100-continue", in: "Expect")
        isLast = request.minorVersion == 0 || request.headers.contains("close", in: "Connection")
    }

    /// Lets somebody answer; once it is in the pipeline.
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

    // MARK: - The request

    func nextPart() -> EventLoopFuture<ByteBuffer?> {
        let promise = local.loop.makePromise(of: ByteBuffer?.self)
        guard let context, waiter == nil, case .request = phase else {
            promise.fail(PlainExchange.Failure.over)
            return promise.futureResult
        }
        waiter = promise
        if isLate { tellTooSlow() } else { serveWaiter(context) }
        return promise.futureResult
    }

    private func serveWaiter(_ context: ChannelHandlerContext) {
        guard let promise = waiter else { return }
        do throws(HandshakeFailure) {
            let part = try takePart()
            if part == nil, !body.isAtEnd {
                sayContinue(context)
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

    /// Content of the body that is there; nil if there is none, or none any more.
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

    /// RFC 9110 §10.1.1.
    private func sayContinue(_ context: ChannelHandlerContext) {
        guard wantsContinue else { return }
        wantsContinue = false
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
    }

    private func tellTooSlow() {
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

    // MARK: - The answer

    func begin(_ head: ResponseHead, length: Int?) -> EventLoopFuture<Void> {
        guard let context, case .request = phase else { return over() }
        // Of a small body all may have come.
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

    /// Sends what was written, and this; it has to have left in time.
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

    // MARK: - The end

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

    /// Closing at once with unread input would reset TCP and could destroy the answer on its way.
    private func linger(_ context: ChannelHandlerContext) {
        var lingering = Lingering()
        let fits = lingering.drop(pending.readableBytes)
        (phase, pending) = (.lingering(lingering), ByteBuffer())
        guard fits else { return context.close(promise: nil) }
        local.setAlarm(self, at: .now() + Lingering.time)
        let closed = context.eventLoop.makePromise(of: Void.self)
        closed.futureResult.assumeIsolated().whenFailure { _ in context.close(promise: nil) }
        context.close(mode: .output, promise: closed)
        context.read()
    }

    func alarmRang() {
        if case .request = phase { tellTooSlow() } else { context?.close(promise: nil) }
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

/// What is still taken from a client that was answered, and is dropped.
struct Lingering {
    /// How long it may take to hang up.
    static let time = TimeAmount.seconds(2)
    private var left = 4 << 20

    /// Drops so many bytes; false: those were too many.
    mutating func drop(_ count: Int) -> Bool {
        left -= count
        return left >= 0
    }
}
