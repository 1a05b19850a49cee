package import NIOCore
import NIOPosix
package import WebSocketCore
package import WebSocketRuntime

/// A WebSocket on a NIO channel, as a message transport.
///
/// The link ends at the latest when this object is released.
package final class WebSocketChannel: BatchTransport {
    package let agreement: Agreement
    package let role: Role
    private let channel: any Channel
    private let lease: LoopLease?
    private let local: LoopLocal
    private let handler: HandlerReference
    package let inbound: InboundQueue
    /// The traffic so far, kept outside of the connection itself.
    package let meter: TrafficMeter
    private let outbound: OutboundQueue
    private let record: LockedValue<CloseRecord?>
    private let finished: EventLoopFuture<Ending>
    private let pings = LockedValue<UInt64>(0)

    /// The end of a connection: its close record, and the error if it did not close regularly.
    typealias Ending = (record: CloseRecord, error: TransportError?)

    /// A reference to the handler, for as long as that exists.
    ///
    /// SAFETY: used on the event loop only. A weak reference would make every other reference slower.
    private final class HandlerReference: @unchecked Sendable {
        @exclusivity(unchecked) var handler: WebSocketHandler? { didSet { unretained = handler.map { .passUnretained($0) } } }
        @exclusivity(unchecked) private var unretained: Unmanaged<WebSocketHandler>?

        func sendNow(_ message: Message) -> Bool {
            unretained?._withUnsafeGuaranteedRef { $0.sendNow(message) } ?? false
        }
    }

    /// Turns a channel whose handshake is complete into a WebSocket.
    ///
    /// Must be called on its event loop.
    ///
    /// - Parameters:
    ///   - position: The place in the pipeline where the frames arrive.
    ///   - isPlain: Whether they come from the socket itself, without TLS.
    ///   - inline: The handler that receives the messages on the event loop; nil lets tasks take them.
    package static func install(
        on channel: any Channel, agreement: Agreement, settings: ConnectionSettings,
        position: ChannelPipeline.SynchronousOperations.Position, isPlain: Bool, inline: (any InlineHandler)?
    ) throws -> WebSocketChannel {
        let lease = LoopLease(for: channel.eventLoop)
        return try install(
            on: channel, agreement: agreement, settings: settings, position: position, lease: lease, local: lease.local,
            sharesReads: isPlain && shareReads(of: channel, lease.local, hasRead: true), inline: inline)
    }

    /// Does the same with the state that was prepared for the handshake.
    ///
    /// - Parameters:
    ///   - lease: Keeps `local` alive; nil if another owner does.
    ///   - local: The shared state of the event loop.
    ///   - sharesReads: The result of ``shareReads(of:_:hasRead:inSmallPieces:)``; false over TLS.
    static func install(
        on channel: any Channel, agreement: Agreement, settings: ConnectionSettings,
        position: ChannelPipeline.SynchronousOperations.Position, lease: LoopLease?, local: LoopLocal, sharesReads: Bool,
        inline: (any InlineHandler)?
    ) throws -> WebSocketChannel {
        let loop = channel.eventLoop
        let box = HandlerReference()
        let inbound = InboundQueue(capacity: settings.receiveBuffer) {
            loop.execute { box.handler?.resumeReading() }
        } onIdle: {
            loop.execute { box.handler?.notifyViolation() }
        }
        let options = settings.compression ?? CompressionOptions()
        let deflater = agreement.deflate.map { Deflater(parameters: $0, role: settings.role, options: options) }
        let writer = FrameWriter(role: settings.role, deflater: deflater, threshold: options.threshold)
        let encoder = FrameEncoder(role: settings.role, threshold: writer.compressionThreshold, local: local)
        let outbound = OutboundQueue(capacity: settings.sendBuffer, encoder: encoder) {
            // Messages that a task sends on the event loop itself leave when its turn ends.
            if loop.inEventLoop { box.handler?.noteWork() } else { loop.execute { box.handler?.noteWork() } }
        }
        let (record, finished) = (LockedValue<CloseRecord?>(nil), loop.makePromise(of: Ending.self))
        let handler = WebSocketHandler(
            settings: settings, agreement: agreement, local: local, sharesReads: sharesReads, inbound: inbound, outbound: outbound,
            encoder: encoder, writer: writer, inline: inline
        ) {
            record.withLockedValue { [end = $0.record] in $0 = end }
            finished.succeed($0)
        } onGone: {
            box.handler = nil
        }
        box.handler = handler
        do {
            try channel.pipeline.syncOperations.addHandler(handler, position: position)
        } catch {
            box.handler = nil
            throw error
        }
        return WebSocketChannel(
            agreement, settings.role, channel, lease, local, box, inbound, outbound, handler.meter, record, finished.futureResult)
    }

    /// Makes a channel read into the shared buffer of its event loop, if possible; a channel of Network.framework has its own.
    ///
    /// - Parameter hasRead: Whether the channel has read before.
    static func shareReads(of channel: any Channel, _ local: LoopLocal, hasRead: Bool, inSmallPieces: Bool = false) -> Bool {
        // Other channels terminate the process for an option that they do not know.
        guard MultiThreadedEventLoopGroup.currentEventLoop != nil, let options = channel.syncOptions else { return false }
        do {
            try options.setOption(.maxMessagesPerRead, value: 1)
            try options.setOption(.recvAllocator, value: SharedReadAllocator(local: local, isSmall: inSmallPieces, isPoolFull: hasRead))
            // Room for the data of one system call, see `WebSocketHandler.flushSize`.
            let high = WebSocketHandler.flushSize + WebSocketHandler.batchSize
            try options.setOption(.writeBufferWaterMark, value: .init(low: high / 2, high: high))
            return true
        } catch {
            return false
        }
    }

    /// The number of reads of a connection before NIO turns to others, each of up to 64 KiB.
    static let messagesPerRead: UInt = 4

    /// Sets how often a TLS channel, which has its own buffers, reads in one turn; nil changes nothing.
    static func setMessagesPerRead(of channel: any Channel, to count: UInt?) {
        guard let count, MultiThreadedEventLoopGroup.currentEventLoop != nil else { return }
        try? channel.syncOptions?.setOption(.maxMessagesPerRead, value: count)
    }

    private init(
        _ agreement: Agreement, _ role: Role, _ channel: any Channel, _ lease: LoopLease?, _ local: LoopLocal,
        _ handler: HandlerReference, _ inbound: InboundQueue, _ outbound: OutboundQueue, _ meter: TrafficMeter,
        _ record: LockedValue<CloseRecord?>, _ finished: EventLoopFuture<Ending>
    ) {
        (self.agreement, self.role, self.channel, self.handler, self.inbound) = (agreement, role, channel, handler, inbound)
        (self.lease, self.local, self.meter) = (lease, local, meter)
        (self.outbound, self.record, self.finished) = (outbound, record, finished)
    }

    deinit {
        // Once the outcome is known, the close handshake ends the link by itself when the last bytes were sent.
        if closeRecord == nil { abort() }
    }

    package var closeRecord: CloseRecord? { record.withLockedValue({ $0 }) }

    package var traffic: LinkTraffic { meter.traffic }

    /// The identity of its channel.
    package var id: ObjectIdentifier { ObjectIdentifier(channel) }

    /// Calls `body` on the event loop once the outcome is known.
    package func whenEnded(_ body: @escaping @Sendable () -> Void) { finished.whenComplete { _ in body() } }

    /// Calls `body` on the event loop with the outcome, once it is known.
    package func whenFinished(_ body: @escaping @Sendable (CloseRecord) -> Void) { finished.whenSuccess { body($0.record) } }

    /// Calls `body` on the event loop if the connection ends because the peer does not respond any more.
    func whenLost(_ body: @escaping @Sendable () -> Void) {
        finished.whenSuccess { if let code = $0.error?.code, [.lost, .unresponsive, .stalled].contains(code) { body() } }
    }

    /// Prevents that further WebSockets are opened on its TCP connection.
    package func leaveShared() {
        #if HTTP2
            if let link = channel.parent { HTTP2Pool.shared.retire(link) }
        #endif
    }

    package func ended() async -> Result<CloseRecord, TransportError> {
        guard let ending = try? await finished.get() else { return .success(CloseRecord()) }
        return ending.error.map { .failure($0) } ?? .success(ending.record)
    }

    package func receive() async throws(TransportError) -> Received? { try await inbound.next() }

    package func send(_ message: Message) async throws(TransportError) { try await outbound.send(message) }

    package func offer(_ message: Message) throws(TransportError) -> Bool {
        if local.isCurrent, handler.sendNow(message) { return true }
        return try outbound.offer(message)
    }

    package func beginMessage() async throws(TransportError) -> MessageTicket { try await outbound.beginMessage() }

    package func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError) {
        try await outbound.send(chunk, of: ticket)
    }

    package func abandon(_ ticket: MessageTicket) {
        if outbound.abandon(ticket) { perform { $0.close(CloseFrame(.internalError, reason: "a message was given up half sent")) } }
    }

    package func whenWritten(_ body: @escaping @Sendable (_ isWritten: Bool) -> Void) { outbound.whenWritten(body) }

    package func ping(timeout: Duration) async throws(TransportError) -> Duration {
        let id = pings.withLockedValue { last in
            last += 1
            return last
        }
        let promise = channel.eventLoop.makePromise(of: Duration.self)
        let (handler, finished) = (handler, finished)
        channel.eventLoop.execute {
            guard let handler = handler.handler else {
                return finished.whenComplete { promise.fail((try? $0.get())?.error ?? TransportError.closing) }
            }
            handler.ping(id, timeout: timeout, promise)
        }
        do {
            return try await withTaskCancellationHandler {
                try await promise.futureResult.get()
            } onCancel: {
                perform { $0.pings.removeValue(forKey: id)?.fail(TransportError(.cancelled, "the wait for a pong was cancelled")) }
            }
        } catch {
            throw error as? TransportError ?? TransportError(.lost, "\(error)", underlying: error)
        }
    }

    package func probe() { perform { $0.probe() } }

    package func setPingInterval(_ interval: Duration?) { perform { $0.setPingInterval(interval) } }

    package func observe(_ observer: (any LinkObserver)?) { perform { $0.observer = observer } }

    package func close(_ frame: CloseFrame) async -> CloseRecord {
        if let closeRecord { return closeRecord }
        perform { $0.close(frame) }
        return await withTaskCancellationHandler {
            // The promise never fails: a close handshake always has an outcome, at the latest at its deadline.
            (try? await finished.get())?.record ?? CloseRecord()
        } onCancel: {
            abort()
        }
    }

    /// Sends the close frame without waiting.
    package func sayGoodbye(_ frame: CloseFrame) { perform { $0.close(frame) } }

    package func abort() {
        perform { $0.abort(.droppedHere) }
    }

    /// Runs `body` on the event loop with the socket of the connection's inline handler.
    package func run(_ body: @escaping @Sendable (InlineSocket) -> Void) {
        perform { if let inline = $0.inline { body(inline.socket) } }
    }

    /// An actor that runs tasks on the connection's event loop, in the same turn in which their message arrived.
    package var loop: LoopActor { LoopActor(local) }

    private func perform(_ body: @escaping @Sendable (WebSocketHandler) -> Void) {
        let handler = handler
        channel.eventLoop.execute { if let handler = handler.handler { body(handler) } }
    }
}
