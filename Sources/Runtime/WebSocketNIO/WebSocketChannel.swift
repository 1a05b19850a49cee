import NIOConcurrencyHelpers
package import NIOCore
package import WebSocketCore
package import WebSocketRuntime

/// A WebSocket on a NIO channel, as a transport of messages.
///
/// The link ends at the latest when this object is released.
package final class WebSocketChannel: MessageTransport {
    package let agreement: Agreement
    package let role: Role
    private let channel: any Channel
    private let handler: NIOLoopBoundBox<WeakHandler>
    private let inbound: InboundQueue
    private let outbound: OutboundQueue
    private let record: NIOLockedValueBox<CloseRecord?>
    private let finished: EventLoopFuture<Ending>
    private let pings = NIOLockedValueBox<UInt64>(0)

    /// How a connection ended, and why if that was not in peace.
    typealias Ending = (record: CloseRecord, error: TransportError?)

    /// The handler lives in the pipeline; nothing else keeps it.
    struct WeakHandler { weak var handler: WebSocketHandler? }

    /// Turns a channel whose handshake is done into a WebSocket.
    ///
    /// Call on its event loop.
    ///
    /// - Parameter position: Where the frames come out of the pipeline.
    static func install(
        on channel: any Channel, agreement: Agreement, settings: ConnectionSettings,
        position: ChannelPipeline.SynchronousOperations.Position
    ) throws -> WebSocketChannel {
        let box = NIOLoopBoundBox(WeakHandler(), eventLoop: channel.eventLoop)
        let loop = channel.eventLoop
        let inbound = InboundQueue(capacity: settings.receiveBuffer) {
            loop.execute { box.value.handler?.resumeReading() }
        } onIdle: {
            loop.execute { box.value.handler?.tellViolation() }
        }
        let outbound = OutboundQueue(capacity: settings.sendBuffer) {
            loop.execute {
                box.value.handler?.drain()
                box.value.handler?.flush()
            }
        }
        let (record, finished) = (NIOLockedValueBox<CloseRecord?>(nil), loop.makePromise(of: Ending.self))
        let handler = WebSocketHandler(settings: settings, agreement: agreement, inbound: inbound, outbound: outbound) {
            record.withLockedValue { [end = $0.record] in $0 = end }
            finished.succeed($0)
        }
        box.value.handler = handler
        try channel.pipeline.syncOperations.addHandler(handler, position: position)
        return WebSocketChannel(agreement, settings.role, channel, box, inbound, outbound, record, finished.futureResult)
    }

    private init(
        _ agreement: Agreement, _ role: Role, _ channel: any Channel, _ handler: NIOLoopBoundBox<WeakHandler>, _ inbound: InboundQueue,
        _ outbound: OutboundQueue, _ record: NIOLockedValueBox<CloseRecord?>, _ finished: EventLoopFuture<Ending>
    ) {
        (self.agreement, self.role, self.channel, self.handler, self.inbound) = (agreement, role, channel, handler, inbound)
        (self.outbound, self.record, self.finished) = (outbound, record, finished)
    }

    deinit {
        // Once the outcome is known the close handshake ends the link by itself, when the last bytes have left.
        if closeRecord == nil { abort() }
    }

    package var closeRecord: CloseRecord? { record.withLockedValue(\.self) }

    /// The peer's address, if the channel knows it.
    package var remoteAddress: SocketAddress? { channel.remoteAddress }

    package func ended() async -> Result<CloseRecord, TransportError> {
        guard let ending = try? await finished.get() else { return .success(CloseRecord()) }
        return ending.error.map { .failure($0) } ?? .success(ending.record)
    }

    package func receive() async throws(TransportError) -> Received? { try await inbound.next() }

    package func send(_ message: Message) async throws(TransportError) { try await outbound.send(message) }

    package func offer(_ message: Message) throws(TransportError) -> Bool { try outbound.offer(message) }

    package func beginMessage() async throws(TransportError) -> MessageTicket { try await outbound.beginMessage() }

    package func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError) {
        try await outbound.send(chunk, of: ticket)
    }

    package func abandon(_ ticket: MessageTicket) {
        if outbound.abandon(ticket) { perform { $0.close(CloseFrame(.internalError, reason: "a message was given up half sent")) } }
    }

    package func ping(timeout: Duration) async throws(TransportError) -> Duration {
        let id = pings.withLockedValue { last in
            last += 1
            return last
        }
        let promise = channel.eventLoop.makePromise(of: Duration.self)
        let (handler, finished) = (handler, finished)
        channel.eventLoop.execute {
            guard let handler = handler.value.handler else {
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

    package func close(_ frame: CloseFrame) async -> CloseRecord {
        perform { $0.close(frame) }
        return await withTaskCancellationHandler {
            // The promise is never failed: a close handshake always has an outcome, at its deadline if not before.
            (try? await finished.get())?.record ?? CloseRecord()
        } onCancel: {
            abort()
        }
    }

    /// Sends the close frame, and waits for nothing.
    package func sayGoodbye(_ frame: CloseFrame) { perform { $0.close(frame) } }

    package func abort() {
        perform { $0.abort(TransportError(.lost, "the connection was dropped by this side")) }
    }

    private func perform(_ body: @escaping @Sendable (WebSocketHandler) -> Void) {
        let handler = handler
        channel.eventLoop.execute { if let handler = handler.value.handler { body(handler) } }
    }
}
