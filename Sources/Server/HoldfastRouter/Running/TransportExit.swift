import CodecCore
import Holdfast
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// A client that came over any transport, such as one in memory.
///
/// SAFETY: but for what tasks call, which say so, all is touched on the event loop of `port` only.
final class TransportExit: LinkExit, @unchecked Sendable {
    /// What has to be waited for.
    private enum Errand {
        case send(Message)
        case close(CloseFrame)
    }

    private let port: RouterPort
    private let transport: any MessageTransport
    private let serialization: WAMPSerialization
    private var link: RouterLink?
    private var isSending = false
    /// While nothing more is taken from the client.
    private var onResume: EventLoopPromise<Void>?
    // At most one message, and one close.
    private let errands: AsyncStream<Errand>
    private let errand: AsyncStream<Errand>.Continuation

    init(_ transport: any MessageTransport, at port: RouterPort) {
        (self.port, self.transport) = (port, transport)
        serialization = transport.agreement.subprotocol.flatMap(WAMPSerialization.init(subprotocol:)) ?? .json
        (errands, errand) = AsyncStream.makeStream()
    }

    // MARK: - In tasks

    /// Serves the client until its connection has ended; a cancelled task cuts it.
    func serve() async {
        await withTaskCancellationHandler {
            try? await port.loop.submit { self.open() }.get()
            await withDiscardingTaskGroup { group in
                group.addTask { await self.runErrands() }
                await self.read()
                errand.finish()
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
            try? await port.loop.flatSubmit { self.hear(messages[...]) }.get()
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

    private func runErrands() async {
        for await errand in errands {
            switch errand {
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

    /// Says when more may come.
    private func hear(_ messages: ArraySlice<(Result<WAMPMessage, WAMPFormatError>, bytes: Int)>) -> EventLoopFuture<Void> {
        var rest = messages
        while let (message, bytes) = rest.popFirst() {
            link?.heard(message, bytes: bytes)
            if let onResume { return onResume.futureResult.flatMap { [rest] in self.hear(rest) } }
        }
        return port.loop.makeSucceededVoidFuture()
    }

    func send(_ message: WrittenMessage) -> Bool {
        guard !isSending else { return false }
        let message = message.message
        // A transport that is over takes everything, and keeps nothing.
        if (try? transport.offer(message)) ?? true { return true }
        isSending = true
        errand.yield(.send(message))
        return true
    }

    func close(_ frame: CloseFrame, by deadline: NIODeadline) {
        errand.yield(.close(frame))
        // It comes after the message that the client does not take.
        guard isSending else { return }
        port.loop.assumeIsolated().scheduleTask(deadline: deadline) { if self.isSending { self.transport.abort() } }
    }

    func abort() { transport.abort() }
    // The transport says how long its messages may be.
    func hasJoined() {}
    func pause() { onResume = onResume ?? port.loop.makePromise() }
    func resume() { onResume.take()?.succeed() }
}
