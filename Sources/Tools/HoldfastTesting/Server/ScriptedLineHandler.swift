#if SwiftNIO
    import DequeModule
    import Holdfast
    import NIOCore

    /// The server's end of one connection: hears when the script asks, answers what needs no script, and keeps the rest for it.
    ///
    /// Nothing is heard before the script asks, so that a step counts for all that comes after it. Everything happens on the event loop.
    /// What is kept is bounded: with a backlog nothing more is read.
    final class ScriptedLineHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        /// What may wait for the script, heard or not, before no more is read.
        private static let capacity = 1 << 20

        private let loop: any EventLoop
        private let tell: @Sendable ((inout ScriptedVisit) -> Void) -> Void
        private var context: ChannelHandlerContext?
        private var parser = HeadParser<RequestHead>()
        private var hasRequest = false
        private var speech = ClientSpeech()
        private var inbox: Deque<Heard> = []
        private var backlog = 0
        private var waiter: (promise: EventLoopPromise<Heard>, alarm: Scheduled<Void>)?
        private var end: String?
        var isReading = true {
            didSet { readOn() }
        }
        /// Hears whatever comes, although the script does not ask.
        var isListening = false {
            didSet { listen() }
        }
        var answersPings = true
        var answersClose = true
        var hasClosed = false

        init(on loop: any EventLoop, _ tell: @escaping @Sendable ((inout ScriptedVisit) -> Void) -> Void) {
            (self.loop, self.tell) = (loop, tell)
        }

        /// What is heard next, within this time.
        func next(within patience: Duration) -> EventLoopFuture<Heard> {
            let promise = loop.makePromise(of: Heard.self)
            if let heard = inbox.popFirst() {
                backlog -= heard.byteCount
                promise.succeed(heard)
                return promise.futureResult
            }
            let alarm = loop.assumeIsolated().scheduleTask(in: TimeAmount(patience)) { [self] in answer(.silence(patience)) }
            waiter = (promise, alarm)
            listen()
            if let end { answer(.end(end)) }
            return promise.futureResult
        }

        func handlerAdded(context: ChannelHandlerContext) {
            self.context = context
            if context.channel.isActive { readOn() }
        }

        func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

        func channelActive(context: ChannelHandlerContext) { readOn() }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard end == nil else { return }
            var bytes = unwrapInboundIn(data)
            do {
                if !hasRequest, let request = try head(&bytes) {
                    hasRequest = true
                    hear(.request(request))
                }
            } catch {
                end(with: "no request (\(error))")
            }
            guard hasRequest else { return }
            speech.feed(&bytes)
            listen()
        }

        func channelReadComplete(context: ChannelHandlerContext) { readOn() }

        func channelInactive(context: ChannelHandlerContext) { end(with: "the end of the connection") }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func head(_ bytes: inout ByteBuffer) throws -> RequestHead? {
            let before = bytes.readableBytes
            let (request, left) = try bytes.withUnsafeReadableBytes { all in
                var rest = all
                return (try parser.parse(&rest), rest.count)
            }
            bytes.moveReaderIndex(forwardBy: before - left)
            return request
        }

        /// Hears as much as is wanted, and asks for more.
        private func listen() {
            do throws(ProtocolViolation) {
                while isWanted, let heard = try speech.next() { hear(heard) }
            } catch {
                speech = ClientSpeech()
                end(with: "a client that breaks the rules (\(error))")
            }
            readOn()
        }

        /// Whether the script asks for something, or has time for anything.
        private var isWanted: Bool { waiter != nil || (isListening && backlog < Self.capacity) }

        private func hear(_ heard: Heard) {
            tell { $0.record(heard) }
            // Before the reply, which may end the connection at once.
            if waiter == nil {
                inbox.append(heard)
                backlog += heard.byteCount
            } else {
                answer(heard)
            }
            switch heard {
            case .ping(let payload) where answersPings && !hasClosed: write(.pong, payload)
            case .close(let frame) where answersClose: reply(to: frame)
            default: break
            }
        }

        /// RFC 6455 §7.1.1: the server is the first to hang up.
        private func reply(to frame: CloseFrame) {
            guard let channel = context?.channel else { return }
            if !hasClosed { write(.close, frame.payload) }
            hasClosed = true
            channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(promise: nil) }
        }

        private func write(_ opcode: Opcode, _ payload: [UInt8]) {
            context?.channel.writeAndFlush(ByteBuffer(bytes: ServerFrame.frame(opcode, payload)), promise: nil)
        }

        /// Gives the script what it asked for.
        private func answer(_ heard: Heard) {
            guard let waiter = waiter.take() else { return }
            waiter.alarm.cancel()
            waiter.promise.succeed(heard)
        }

        private func end(with reason: String) {
            guard end == nil else { return }
            end = reason
            tell { $0.isOver = true }
            answer(.end(reason))
        }

        /// Asks for more, if the script lets it and keeps up.
        private func readOn() {
            if isReading, waiter != nil || backlog + speech.byteCount < Self.capacity { context?.read() }
        }
    }
#endif
