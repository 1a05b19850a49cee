import MachineCore
import NIOCore
import WebSocketCore
import WebSocketRuntime

/// One open WebSocket on a channel: the hot path.
///
/// Frames are parsed in the read buffer and their payload moves once, into the message handed
/// over. Messages are delivered a batch per read burst; what is written in one turn leaves in one
/// flush. Only control frames and time go through machines.
///
/// Everything here runs on the channel's event loop.
final class WebSocketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let settings: ConnectionSettings
    let inbound: InboundQueue
    let outbound: OutboundQueue
    /// Told once how the connection ended.
    let onFinished: (WebSocketChannel.Ending) -> Void

    var reader: MessageReader
    var writer: FrameWriter
    var closing: CloseHandshake
    var heartbeat: Heartbeat
    var heartbeatEffects: [Heartbeat.Effect] = []
    let origin = NIODeadline.now()
    var alarm: (at: Moment, task: Scheduled<Void>)?
    var context: ChannelHandlerContext?
    /// Why the connection failed, once it did; the first reason counts.
    var failure: TransportError?
    /// What the peer is to be told of its violation, once the app has dealt with what came before.
    var untold: (frame: CloseFrame, until: Moment)?
    var pings: [UInt64: EventLoopPromise<Duration>] = [:]

    // Inbound.
    var batch: [Received] = []
    var batchCost = 0
    /// Bytes read and not yet parsed, because the app does not keep up.
    var unparsed: ByteBuffer?
    var isPaused = false
    /// Itself, when TCP is over and bytes are left unparsed: the pipeline keeps it no longer.
    var survivor: WebSocketHandler?
    /// The app has asked to close and was full: what still comes is dropped, to the end, for a hole would be worse.
    var dropsRest = false
    /// Nothing that still arrives counts: the peer has said its last word, or broke a rule.
    var isDiscarding = false

    // Outbound.
    var out = ByteBuffer()
    var needsFlush = false
    var pingsInOut: [[UInt8]] = []
    var owedPong: [UInt8]?
    var closeFrameToSend: CloseFrame?
    var isCloseFrameSent = false
    /// Our side of TCP ends once the close frame is out.
    var endsOutput = false
    var stalledUntil: Moment?

    init(
        settings: ConnectionSettings, agreement: Agreement, inbound: InboundQueue, outbound: OutboundQueue,
        onFinished: @escaping (WebSocketChannel.Ending) -> Void
    ) {
        (self.settings, self.inbound, self.outbound, self.onFinished) = (settings, inbound, outbound, onFinished)
        let (role, options) = (settings.role, settings.compression ?? CompressionOptions())
        let inflater = agreement.deflate.map { Inflater(parameters: $0, role: role) }
        let deflater = agreement.deflate.map { Deflater(parameters: $0, role: role, options: options) }
        reader = MessageReader(role: role, limits: settings.limits, delivery: settings.delivery, inflater: inflater)
        writer = FrameWriter(role: role, deflater: deflater, threshold: options.threshold)
        closing = CloseHandshake(role: role, patience: settings.closeTimeout)
        heartbeat = Heartbeat(
            interval: settings.pingInterval, patience: settings.pingTimeout, stall: settings.stallTimeout ?? Self.unlimited,
            seed: .random(in: .min ... .max))
    }

    /// Longer than any connection lives, and far from overflow.
    private static let unlimited = Duration.seconds(1 << 30)

    var now: Moment { Moment(.nanoseconds((NIODeadline.now() - origin).nanoseconds)) }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if !context.channel.isWritable { startStall() }
        setAlarm()
        if context.channel.isActive { context.read() } else { transportEnded() }
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
}
