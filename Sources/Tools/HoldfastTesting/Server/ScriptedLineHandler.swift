#if SwiftNIO
    import DequeModule
    import Holdfast
    import NIOCore

    /// The server's end of one connection: reads events when the script asks, answers pings and closes, and keeps the rest for the script.
    ///
    /// It parses nothing before the script asks, so that a step applies to everything that arrives after it. Everything happens on the
    /// event loop. The memory is bounded: reading stops while the backlog is full.
    final class ScriptedLineHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        /// The number of bytes that may wait for the script, parsed or not, before reading stops.
        private static let capacity = 1 << 20

        private let loop: any EventLoop
        private let notify: @Sendable ((inout ScriptedVisit) -> Void) -> Void
        private var context: ChannelHandlerContext?
        private var parser = HeadParser<RequestHead>()
        private var hasRequest = false
        private var speech = ClientSpeech()
        private var inbox: Deque<ScriptedInput> = []
        private var backlog = 0
        private var waiter: (promise: EventLoopPromise<ScriptedInput>, alarm: Scheduled<Void>)?
        private var end: String?
        var isReading = true {
            didSet { readOn() }
        }
        /// Whether events are parsed although the script does not ask for them.
        var isListening = false {
            didSet { listen() }
        }
        var answersPings = true
        var answersClose = true
        var hasClosed = false

        init(on loop: any EventLoop, _ notify: @escaping @Sendable ((inout ScriptedVisit) -> Void) -> Void) {
            (self.loop, self.notify) = (loop, notify)
        }

        /// Returns the next event, or silence after this time.
        func next(within patience: Duration) -> EventLoopFuture<ScriptedInput> {
            let promise = loop.makePromise(of: ScriptedInput.self)
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
                    handle(.request(request))
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

        /// Parses as many events as the script wants, and reads on.
        private func listen() {
            do throws(ProtocolViolation) {
                while isWanted, let heard = try speech.next() { handle(heard) }
            } catch {
                speech = ClientSpeech()
                end(with: "a client that violates the protocol (\(error))")
            }
            readOn()
        }

        /// Whether the script waits for an event, or accepts any event while it pauses.
        private var isWanted: Bool { waiter != nil || (isListening && backlog < Self.capacity) }

        private func handle(_ heard: ScriptedInput) {
            notify { $0.record(heard) }
            // This comes before the reply, which may end the connection at once.
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

        /// RFC 6455 §7.1.1: the server closes the TCP connection first.
        private func reply(to frame: CloseFrame) {
            guard let channel = context?.channel else { return }
            if !hasClosed { write(.close, frame.payload) }
            hasClosed = true
            channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(promise: nil) }
        }

        private func write(_ opcode: Opcode, _ payload: [UInt8]) {
            context?.channel.writeAndFlush(ByteBuffer(bytes: ServerFrame.frame(opcode, payload)), promise: nil)
        }

        /// Gives the event to the script that waits for it.
        private func answer(_ heard: ScriptedInput) {
            guard let waiter = waiter.take() else { return }
            waiter.alarm.cancel()
            waiter.promise.succeed(heard)
        }

        private func end(with reason: String) {
            guard end == nil else { return }
            end = reason
            notify { $0.isOver = true }
            answer(.end(reason))
        }

        /// Reads more, if the script allows it and keeps up.
        private func readOn() {
            if isReading, waiter != nil || backlog + speech.byteCount < Self.capacity { context?.read() }
        }
    }
#endif
