import CodecCore
import Holdfast
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// A client on any transport, such as one in memory.
///
/// SAFETY: Everything is accessed on the event loop of `port` only, except the members that tasks call, which say so.
final class TransportOutput: LinkOutput, @unchecked Sendable {
    /// A job that must be awaited.
    private enum Work {
        case send(Message)
        case close(CloseFrame)
    }

    private let port: RouterPort
    private let transport: any MessageTransport
    private let serialization: WAMPSerialization
    private var link: RouterLink?
    private var isSending = false
    /// Exists while nothing more is read from the client.
    private var onResume: EventLoopPromise<Void>?
    // At most one message and one close.
    private let work: AsyncStream<Work>
    private let workContinuation: AsyncStream<Work>.Continuation

    init(_ transport: any MessageTransport, at port: RouterPort) {
        (self.port, self.transport) = (port, transport)
        serialization = transport.agreement.subprotocol.flatMap(WAMPSerialization.init(subprotocol:)) ?? .json
        (work, workContinuation) = AsyncStream.makeStream()
    }

    // MARK: - In tasks

    /// Serves the client until its connection has ended.
    ///
    /// If the task is cancelled, the connection is cut.
    func serve() async {
        await withTaskCancellationHandler {
            try? await port.loop.submit { self.open() }.get()
            await withDiscardingTaskGroup { group in
                group.addTask { await self.run() }
                await self.read()
                workContinuation.finish()
            }
            _ = await transport.ended()
            try? await port.loop.submit { self.link.take()?.ended() }.get()
        } onCancel: {
            transport.abort()
        }
    }

    private func read() async {
        while let batch = await nextBatch(), !batch.isEmpty {
            let messages = messages(in: batch)
            try? await port.loop.flatSubmit { self.handle(messages[...]) }.get()
        }
    }

    private func nextBatch() async -> ReceivedBatch? {
        if let transport = transport as? any BatchTransport { return try? await transport.inbound.nextBatch() }
        guard let received = try? await transport.receive() else { return nil }
        return ReceivedBatch(CollectionOfOne(received))
    }

    private func messages(in batch: ReceivedBatch) -> [(Result<WAMPMessage, WAMPFormatError>, bytes: Int)] {
        var (batch, messages) = (batch, [(Result<WAMPMessage, WAMPFormatError>, bytes: Int)]())
        func read(_ kind: MessageKind, _ bytes: UnsafeRawBufferPointer) {
            messages.append((port.local.read(kind, bytes.bytes, as: serialization), bytes.count))
        }
        while let received = batch.popFirst() {
            switch received {
            case .message(.text(var text)): text.withUTF8 { read(.text, UnsafeRawBufferPointer($0)) }
            case .message(.binary(let bytes)): bytes.withUnsafeBytes { read(.binary, $0) }
            case .chunk(let chunk): messages.append((.failure(WAMPFormatError(.messageKind)), chunk.bytes.count))
            }
        }
        return messages
    }

    private func run() async {
        for await workContinuation in work {
            switch workContinuation {
            case .send(let message):
                try? await transport.send(message)
                port.loop.execute {
                    self.isSending = false
                    self.link?.writable()
                }
            case .close(let frame): _ = await transport.close(frame)
            }
        }
    }

    // MARK: - On the event loop

    private func open() {
        let link = RouterLink(serialization, transport: ["type": "memory", "protocol": .text(serialization.subprotocol)], at: port)
        self.link = link
        link.opened(self)
    }

    /// Returns a future that completes when more messages may follow.
    private func handle(_ messages: ArraySlice<(Result<WAMPMessage, WAMPFormatError>, bytes: Int)>) -> EventLoopFuture<Void> {
        var rest = messages
        while let (message, bytes) = rest.popFirst() {
            link?.heard(message, bytes: bytes)
            if let onResume { return onResume.futureResult.flatMap { [rest] in self.handle(rest) } }
        }
        return port.loop.makeSucceededVoidFuture()
    }

    func send(_ message: WrittenMessage) -> Bool {
        guard !isSending else { return false }
        let message = message.message
        // A closed transport accepts everything, and discards it.
        if (try? transport.offer(message)) ?? true { return true }
        isSending = true
        workContinuation.yield(.send(message))
        return true
    }

    func close(_ frame: CloseFrame, by deadline: NIODeadline) {
        workContinuation.yield(.close(frame))
        // The close comes after the message that the client does not read.
        guard isSending else { return }
        port.loop.assumeIsolated().scheduleTask(deadline: deadline) { if self.isSending { self.transport.abort() } }
    }

    func abort() { transport.abort() }
    // The transport limits the length of its messages.
    func hasJoined() {}
    func pause() { onResume = onResume ?? port.loop.makePromise() }
    func resume() { onResume.take()?.succeed() }
}
