import DequeModule
import MachineCore
import NIOCore
import WebSocketCore
import WebSocketRuntime

/// One open WebSocket on a channel: the hot path.
///
/// Frames are parsed in the read buffer. For an ``InlineHandler`` they are unmasked there and never leave it; otherwise their payload is
/// copied once, into the message that a task receives. Messages are delivered in one batch per read burst, and everything written in one
/// turn leaves in one flush. Only control frames and time go through machines.
///
/// Everything here runs on the channel's event loop. The hot properties do without the runtime's checks of exclusive access, which would
/// cost more than the frames themselves: nothing that may call back is called while one of them is being changed.
final class WebSocketHandler: ChannelInboundHandler, Alarmed {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let local: LoopLocal
    /// Whether the read buffers belong to the event loop.
    let sharesReads: Bool
    let settings: ConnectionSettings
    let inbound: InboundQueue
    let outbound: OutboundQueue
    let encoder: FrameEncoder
    /// The traffic so far; `meter` publishes it.
    @exclusivity(unchecked) var traffic = LinkTraffic()
    let meter = TrafficMeter()
    /// The handler that receives the messages instead of a task.
    @exclusivity(unchecked) var inline: (handler: any InlineHandler, socket: InlineSocket)?
    /// Called once with the end of the connection.
    let onFinished: (WebSocketChannel.Ending) -> Void
    /// Called when nothing more can happen, so that the owner releases this object.
    let onGone: () -> Void
    /// Whether no more messages can be sent.
    @exclusivity(unchecked) var isSendingOver = false

    @exclusivity(unchecked) var reader: MessageReader
    @exclusivity(unchecked) var writer: FrameWriter
    @exclusivity(unchecked) var closing: CloseHandshake
    var heartbeat: Heartbeat
    /// When the last bytes arrived, until the heartbeat is told; it is told only when it matters.
    @exclusivity(unchecked) var activeAt: NIODeadline?
    var heartbeatEffects: [Heartbeat.Effect] = []
    /// The sent messages that replace pings.
    @exclusivity(unchecked) var questions = PingQuestions()
    /// The observer of round-trip times.
    var observer: (any LinkObserver)?
    let origin = NIODeadline.now()
    @exclusivity(unchecked) var alarm: Moment?
    @exclusivity(unchecked) var lateAlarm = LateAlarm()
    @exclusivity(unchecked) var alarmIndex: Int?
    @exclusivity(unchecked) var context: ChannelHandlerContext?
    /// The reason why the connection failed; the first reason counts.
    var failure: TransportError?
    /// The close frame for a violation by the peer, which is sent once the app has handled the earlier messages.
    var untold: (frame: CloseFrame, until: Moment)?
    var pings: [UInt64: EventLoopPromise<Duration>] = [:]

    // The read side.
    @exclusivity(unchecked) var batch = ReceivedBatch()
    /// The size of the elements collected in this turn, plus the overhead of small messages.
    @exclusivity(unchecked) var batchCost = 0
    /// Whether a turn is in progress, at whose end everything is written.
    @exclusivity(unchecked) var isInTurn = false
    /// Whether an inline handler is being called; a broken link is then handled after the call.
    @exclusivity(unchecked) var isCalling = false
    /// The buffer that an inline handler reads, so that its bytes can be sent without a copy.
    @exclusivity(unchecked) var reading: (buffer: ByteBuffer, base: UnsafeRawPointer)?
    /// Bytes that were read and not parsed yet, because the app is too slow.
    @exclusivity(unchecked) var unparsed: ByteBuffer?
    /// The buffer for an inline handler's long frames; created for the first of them.
    @exclusivity(unchecked) var longInput: LongInput?
    @exclusivity(unchecked) var isPaused = false
    /// Whether an inline handler has paused receiving.
    @exclusivity(unchecked) var isHeld = false
    /// A reference to itself that keeps it alive when TCP has ended with unparsed bytes left, because the pipeline has released it.
    var survivor: WebSocketHandler?
    /// Whether the rest of the input is dropped, because the app has asked to close while it was full: a gap would be worse.
    @exclusivity(unchecked) var dropsRest = false
    /// Whether further input is ignored: the peer has sent its close frame, or has violated the protocol.
    @exclusivity(unchecked) var isDiscarding = false

    // The write side.
    /// The number of buffers that tasks on the event loop have filled since its last turn.
    @exclusivity(unchecked) var filledBuffers = 0
    @exclusivity(unchecked) var out = FrameBuffer()
    @exclusivity(unchecked) var needsFlush = false
    /// The number of bytes of long messages that an inline handler has sent since the last flush.
    @exclusivity(unchecked) var unflushed = 0
    /// Whether the event loop knows that there is something to write.
    @exclusivity(unchecked) var awaitsFlush = false
    @exclusivity(unchecked) var pingsInOut: [[UInt8]] = []
    /// Whether the queue, or the entries taken from it, contain unwritten data.
    @exclusivity(unchecked) var hasWork = false
    @exclusivity(unchecked) var queued: Deque<OutboundQueue.Entry> = []
    /// The message that is being written; nothing may come between its parts.
    @exclusivity(unchecked) var longFrame: LongFrame?
    @exclusivity(unchecked) var owedPong: [UInt8]?
    @exclusivity(unchecked) var owedPings: [[UInt8]] = []
    /// Whether the channel is full.
    @exclusivity(unchecked) var isBlocked = false
    /// Whether a message of an inline handler was refused.
    var wantsRoom = false
    var closeFrameToSend: CloseFrame?
    var isCloseFrameSent = false
    /// Whether this side of TCP ends once the close frame was written.
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

    /// Longer than the life of any connection, and far from overflow.
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

    /// Ends the connection at once, without a close handshake.
    func abort(_ error: TransportError) {
        if failure == nil { failure = error }
        unparsed = nil
        if let context { context.close(promise: nil) } else { transportEnded() }
    }

    /// Closes the connection for the app.
    func close(_ frame: CloseFrame) {
        notifyViolation()
        feedClosing(.close(frame))
        finishTurn()
    }

    /// Handles a protocol violation of the peer: stops reading, reports it, and ends the connection (RFC 6455 §7.1.7).
    ///
    /// The app first has a moment to answer earlier messages, so that its answers are sent before the close frame.
    func fail(_ violation: ProtocolViolation) {
        isDiscarding = true
        if failure == nil {
            failure = TransportError(violation)
        }
        deliver()
        untold = (CloseFrame(violation.closeCode, reason: violation.description), until: now + .seconds(1))
        if inline != nil || inbound.awaitIdle() { notifyViolation() } else { setAlarm() }
    }

    /// Reports a violation to the peer, unless that was already done.
    func notifyViolation() {
        guard let (frame, _) = untold.take() else { return }
        feedClosing(.fail(frame))
        flush()
    }

    /// Handles the end of TCP.
    ///
    /// Bytes received before it are still parsed when the app has room for them: they may contain a close frame.
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
        if inline != nil { resumeReading() }  // Nothing else triggers the parsing of the rest.
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
                // The notice of a message accepted on another thread may not have arrived here yet.
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
        meter.notify(traffic)
        // First, so that anyone notified of the end finds the record, and can send nothing more.
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

/// Messages that replace pings.
extension WebSocketHandler {
    /// Sends a message instead of a ping.
    ///
    /// If it cannot be sent now, because the socket is full or a message is being sent in pieces, this ping is skipped: a socket that
    /// stays full has its own timeout.
    func ask(_ question: PingMessage, _ payload: [UInt8]) {
        hasWork = true  // The notice of a message accepted on another thread may not have arrived here yet.
        drain()
        pingsInOut.append(payload)  // First, because the message may fill the buffer.
        guard longFrame == nil, sendNow(question.make()) else {
            pingsInOut.removeLast()
            return feedHeartbeat(.postponed)
        }
        questions.ask(at: now, patience: settings.pingTimeout)
    }

    /// Removes the answers from the received batch.
    func takeAnswers() {
        guard let question = settings.pingMessage, question.takeAnswers(from: &batch, to: &questions) else { return }
        feedHeartbeat(.answered)
    }
}
