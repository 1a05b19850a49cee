import DequeModule
import MachineCore
import NIOCore
import WebSocketCore
import WebSocketRuntime

/// One open WebSocket on a channel: the hot path.
///
/// Frames are parsed in the read buffer. For an ``InlineHandler`` they are unmasked there and never leave it; otherwise their
/// payload moves once, into the message that a task gets. Messages are delivered a batch per read burst; what is written in one
/// turn leaves in one flush. Only control frames and time go through machines.
///
/// Everything here runs on the channel's event loop. The hot properties go without the runtime's checks of exclusive access,
/// which would cost more than the frames themselves: nothing that may call back is called while one of them is being changed.
final class WebSocketHandler: ChannelInboundHandler, Alarmed {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let local: LoopLocal
    /// The buffers that are read into are the event loop's own.
    let sharesReads: Bool
    let settings: ConnectionSettings
    let inbound: InboundQueue
    let outbound: OutboundQueue
    let encoder: FrameEncoder
    /// What was carried so far, and whom to tell.
    @exclusivity(unchecked) var traffic = LinkTraffic()
    let meter = TrafficMeter()
    /// Who gets the messages, if not a task.
    @exclusivity(unchecked) var inline: (handler: any InlineHandler, socket: InlineSocket)?
    /// Told once how the connection ended.
    let onFinished: (WebSocketChannel.Ending) -> Void
    /// Told when nothing more can happen, so that nobody keeps this object any longer.
    let onGone: () -> Void
    /// No message can be sent any more.
    @exclusivity(unchecked) var isSendingOver = false

    @exclusivity(unchecked) var reader: MessageReader
    @exclusivity(unchecked) var writer: FrameWriter
    @exclusivity(unchecked) var closing: CloseHandshake
    var heartbeat: Heartbeat
    /// When the last bytes came, if the heartbeat has not heard of it: it is told when it matters.
    @exclusivity(unchecked) var activeAt: NIODeadline?
    var heartbeatEffects: [Heartbeat.Effect] = []
    /// The messages of ours that asked in place of a ping.
    @exclusivity(unchecked) var questions = PingQuestions()
    /// Who hears of the round trips.
    var observer: (any LinkObserver)?
    let origin = NIODeadline.now()
    @exclusivity(unchecked) var alarm: Moment?
    @exclusivity(unchecked) var lateAlarm = LateAlarm()
    @exclusivity(unchecked) var alarmIndex: Int?
    @exclusivity(unchecked) var context: ChannelHandlerContext?
    /// Why the connection failed, once it did; the first reason counts.
    var failure: TransportError?
    /// What the peer is to be told of its violation, once the app has dealt with what came before.
    var untold: (frame: CloseFrame, until: Moment)?
    var pings: [UInt64: EventLoopPromise<Duration>] = [:]

    // Inbound.
    @exclusivity(unchecked) var batch = ReceivedBatch()
    /// Bytes collected in this turn, with what small messages cost beside their payload.
    @exclusivity(unchecked) var batchCost = 0
    /// A turn is in progress, at whose end everything is written.
    @exclusivity(unchecked) var isInTurn = false
    /// An inline handler is being called: that the link broke meanwhile has to wait.
    @exclusivity(unchecked) var isCalling = false
    /// What an inline handler looks at, so that it can be sent without a copy.
    @exclusivity(unchecked) var reading: (buffer: ByteBuffer, base: UnsafeRawPointer)?
    /// Bytes read and not yet parsed, because the app does not keep up.
    @exclusivity(unchecked) var unparsed: ByteBuffer?
    /// Where an inline handler's long frames are read to; there is one from the first of them on.
    @exclusivity(unchecked) var longInput: LongInput?
    @exclusivity(unchecked) var isPaused = false
    /// An inline handler wants no more messages for now.
    @exclusivity(unchecked) var isHeld = false
    /// Itself, when TCP is over and bytes are left unparsed: the pipeline keeps it no longer.
    var survivor: WebSocketHandler?
    /// The app has asked to close and was full: what still comes is dropped, to the end, for a hole would be worse.
    @exclusivity(unchecked) var dropsRest = false
    /// Nothing that still arrives counts: the peer has said its last word, or broke a rule.
    @exclusivity(unchecked) var isDiscarding = false

    // Outbound.
    /// Buffers filled by tasks on the event loop since it last had a turn.
    @exclusivity(unchecked) var filledBuffers = 0
    @exclusivity(unchecked) var out = FrameBuffer()
    @exclusivity(unchecked) var needsFlush = false
    /// Bytes of long messages that an inline handler has sent since the last flush.
    @exclusivity(unchecked) var unflushed = 0
    /// The event loop knows that there is something to write.
    @exclusivity(unchecked) var awaitsFlush = false
    @exclusivity(unchecked) var pingsInOut: [[UInt8]] = []
    /// The queue, or what was taken of it, has something that is not written.
    @exclusivity(unchecked) var hasWork = false
    @exclusivity(unchecked) var queued: Deque<OutboundQueue.Entry> = []
    /// The message being written; nothing may come between its parts.
    @exclusivity(unchecked) var longFrame: LongFrame?
    @exclusivity(unchecked) var owedPong: [UInt8]?
    @exclusivity(unchecked) var owedPings: [[UInt8]] = []
    /// The channel holds as much as it should.
    @exclusivity(unchecked) var isBlocked = false
    /// A message of an inline handler was refused.
    var wantsRoom = false
    var closeFrameToSend: CloseFrame?
    var isCloseFrameSent = false
    /// Our side of TCP ends once the close frame is out.
    var endsOutput = false
    var stalledUntil: Moment?

    init(
        settings: ConnectionSettings, agreement: Agreement, local: LoopLocal, sharesReads: Bool, inbound: InboundQueue,
        outbound: OutboundQueue, encoder: FrameEncoder, writer: FrameWriter, inline: (any InlineHandler)?,
        onFinished: @escaping (WebSocketChannel.Ending) -> Void, onGone: @escaping () -> Void
    ) {
        (self.settings, self.local, self.sharesReads) = (settings, local, sharesReads)
        (self.onFinished, self.onGone) = (onFinished, onGone)
        (self.inbound, self.outbound, self.encoder, self.writer) = (inbound, outbound, encoder, writer)
        self.inline = inline.map { ($0, InlineSocket(agreement)) }
        let inflater = agreement.deflate.map { Inflater(parameters: $0, role: settings.role) }
        reader = MessageReader(
            role: settings.role, limits: settings.limits, delivery: inline == nil ? settings.delivery : .messages, inflater: inflater,
            keepsBytes: inline != nil)
        closing = CloseHandshake(role: settings.role, patience: settings.closeTimeout)
        heartbeat = Heartbeat(
            interval: settings.pingInterval, patience: settings.pingTimeout, stall: settings.stallTimeout ?? Self.unlimited,
            seed: .random(in: .min ... .max))
    }

    /// Longer than any connection lives, and far from overflow.
    private static let unlimited = Duration.seconds(1 << 30)

    var now: Moment { moment(.now()) }

    func moment(_ deadline: NIODeadline) -> Moment { Moment(.nanoseconds((deadline - origin).nanoseconds)) }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        isBlocked = !context.channel.isWritable
        if isBlocked { startStall() }
        setAlarm()
        guard context.channel.isActive else { return transportEnded() }
        if let inline {
            inline.socket.handler = Unmanaged.passUnretained(self)
            isInTurn = true
            calling { inline.handler.opened(inline.socket) }
        }
        finishTurn()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        transportEnded()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        transportEnded()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if failure == nil { failure = TransportError(.lost, "the link failed: \(TransportError.words(error))", underlying: error) }
        context.close(promise: nil)
    }

    /// Ends at once, without a close handshake.
    func abort(_ error: TransportError) {
        if failure == nil { failure = error }
        unparsed = nil
        if let context { context.close(promise: nil) } else { transportEnded() }
    }

    /// The app asks to close.
    func close(_ frame: CloseFrame) {
        tellViolation()
        feedClosing(.close(frame))
        finishTurn()
    }

    /// The peer broke a rule: read no more, say which, and end (RFC 6455 §7.1.7).
    ///
    /// The app first has a moment to answer what came before, so that a violation keeps its place in the order.
    func fail(_ violation: ProtocolViolation) {
        isDiscarding = true
        if failure == nil {
            failure = TransportError(violation)
        }
        deliver()
        untold = (CloseFrame(violation.closeCode, reason: violation.description), until: now + .seconds(1))
        if inline != nil || inbound.awaitIdle() { tellViolation() } else { setAlarm() }
    }

    /// Tells the peer which rule it broke, if it has not been told.
    func tellViolation() {
        guard let (frame, _) = untold.take() else { return }
        feedClosing(.fail(frame))
        flush()
    }

    /// TCP is over.
    ///
    /// What had come by then still counts, when the app has room for it: perhaps a close frame is in it.
    func transportEnded() {
        if isCalling {
            (survivor, isSendingOver) = (self, true)
            return outbound.finish(failure ?? .hungUp, discarding: true)
        }
        deliver()
        (stalledUntil, survivor) = (nil, unparsed == nil ? nil : self)
        local.removeAlarm(self)
        alarm = nil
        guard survivor != nil else {
            feedClosing(.transportEnded)
            return onGone()
        }
        isSendingOver = true
        outbound.finish(failure ?? .hungUp, discarding: true)
        feedHeartbeat(.ended)
        if inline != nil { resumeReading() }  // Nobody else takes what is left.
    }

    func feedClosing(_ input: CloseHandshake.Input) {
        var effects: [CloseHandshake.Effect] = []
        closing.handle(input, at: now, into: &effects)
        perform(effects)
    }

    func perform(_ effects: [CloseHandshake.Effect]) {
        isSendingOver = closing.isClosing || survivor != nil
        for effect in effects {
            switch effect {
            case .sendClose(let frame):
                closeFrameToSend = frame
                outbound.finish(failure ?? .closing, discarding: false)
                // Word of what was accepted on another thread may still be on its way here.
                hasWork = true
                drain()
            case .endOutput: endOutput()
            case .endTransport: context?.close(promise: nil)
            case .finished(let record): finish(record)
            }
        }
        setAlarm()
    }

    private func finish(_ record: CloseRecord) {
        deliver()
        var error = failure ?? TransportError(ending: record)
        error?.record = record
        noteActivity()
        if heartbeat.meetsSilence { error?.wasIdle = true }
        failure = error
        meter.tell(traffic)
        // Whoever learns of the end finds the record, and can send nothing more.
        onFinished((record, error))
        outbound.finish(error ?? .closing, discarding: false)
        outbound.finishMarks()
        inbound.finish(error.map { .failure($0) } ?? .success(()))
        if let (handler, socket) = inline.take() {
            socket.handler = nil
            handler.ended(error.map { .failure($0) } ?? .success(record))
        }
        feedHeartbeat(.ended)
        observer = nil
    }
}

/// Messages that ask whether the peer lives, in place of pings.
extension WebSocketHandler {
    /// Asks with a message.
    ///
    /// If it cannot leave now, for the socket is full or a message is being sent in pieces, it is not asked for this time: a socket that
    /// stays full has a limit of its own.
    func ask(_ question: PingMessage, _ payload: [UInt8]) {
        hasWork = true  // Word of what was accepted on another thread may still be on its way here.
        drain()
        pingsInOut.append(payload)  // First: the message may fill the buffer.
        guard longFrame == nil, sendNow(question.make()) else {
            pingsInOut.removeLast()
            return feedHeartbeat(.postponed)
        }
        questions.ask(at: now, patience: settings.pingTimeout)
    }

    /// Takes the answers out of what was received.
    func takeAnswers() {
        guard let question = settings.pingMessage, question.takeAnswers(from: &batch, to: &questions) else { return }
        feedHeartbeat(.answered)
    }
}
