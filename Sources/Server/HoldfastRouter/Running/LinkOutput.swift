import CodecCore
import Holdfast
import HoldfastServer
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketNIO
import WebSocketRuntime

/// The output of a client: a socket, or any other transport.
///
/// Used on the event loop of the client's port.
protocol LinkOutput: AnyObject {
    /// Hands over a message; returns false if there is no room. The link is told when there is room again.
    func send(_ message: WrittenMessage) -> Bool
    /// Closes after the handed-over messages; those that were not sent by the deadline are dropped.
    func close(_ frame: CloseFrame, by deadline: NIODeadline)
    /// Cuts the connection without a close frame.
    func abort()
    /// Notes that the client has joined: from now on its messages may have the full length.
    func hasJoined()
    /// Stops reading from the client, until ``resume()``.
    func pause()
    /// Reads from the client again.
    func resume()
}

/// A client on a socket: its messages are read in place, and output is written inline.
final class SocketOutput: InlineHandler, LinkOutput {
    private let port: RouterPort
    /// The client's address, as displayed, and as counted by limits.
    private let peer: String?
    private let address: String?
    private var link: RouterLink?
    private var socket: InlineSocket?
    private var serialization = WAMPSerialization.json

    init(_ request: UpgradeRequest, at port: RouterPort, by upgradePolicy: UpgradePolicy) {
        (self.port, peer, address) = (port, upgradePolicy.peer(of: request), upgradePolicy.network(of: request))
    }

    func opened(_ socket: InlineSocket) {
        self.socket = socket
        // There was room when it requested the upgrade.
        guard port.local.takeSlot(address) else {
            return socket.close(code: .tryAgainLater, reason: "too many connections of this address")
        }
        serialization = socket.agreement.subprotocol.flatMap(WAMPSerialization.init(subprotocol:)) ?? .json
        var transport: ValueMap = ["type": "websocket", "protocol": .text(serialization.subprotocol)]
        if let peer { transport["peer"] = .text(peer) }
        let link = RouterLink(serialization, transport: transport, from: address, at: port)
        self.link = link
        socket.limitMessages(to: port.local.limits.greeting)
        link.opened(self)
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {
        link?.heard(port.local.read(kind, bytes, as: serialization), bytes: bytes.byteCount)
    }

    func writable(_ socket: InlineSocket) { link?.writable() }

    func ended(_ result: Result<CloseRecord, TransportError>) {
        socket = nil
        guard let link = link.take() else { return }
        port.local.releaseSlot(address)
        link.ended()
    }

    func send(_ message: WrittenMessage) -> Bool {
        // A closed socket accepts everything, and discards it.
        guard let socket else { return true }
        switch message {
        case .own(let kind, let bytes): return bytes.withUnsafeBytes { socket.send(kind, $0.bytes) }
        case .shared(let message, _): return socket.send(message)
        }
    }

    // A socket has its own deadline.
    func close(_ frame: CloseFrame, by _: NIODeadline) { socket?.close(code: frame.code ?? .normal, reason: frame.reason) }
    func abort() { socket?.abort() }
    func hasJoined() { socket?.limitMessages(to: nil) }
    func pause() { socket?.pauseReceiving() }
    func resume() { socket?.resumeReceiving() }
}

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
