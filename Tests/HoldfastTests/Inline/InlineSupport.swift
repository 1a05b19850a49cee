import Holdfast
import HoldfastServer
import MachineCore
import WebSocketRuntime
import NIOPosix
import Testing

/// The events of a test's inline handlers in order, and the faults.
final class InlineLog: Sendable {
    enum Event: Equatable, Sendable {
        case opened
        case received(Message)
        case writable
        case ended(CloseRecord)
        case failed(TransportError.Code, CloseRecord?)
        /// The handler was deallocated.
        case freed
        /// A note of the test itself.
        case note(String)
    }

    private let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let box = LockedValue<(faults: [String], received: Int)>(([], 0))

    init() { (events, continuation) = AsyncStream.makeStream() }

    /// Violated guarantees.
    var faults: [String] { box.withLockedValue(\.faults) }
    /// The bytes of the messages that were received.
    var receivedBytes: Int { box.withLockedValue(\.received) }

    func fault(_ words: String) { box.withLockedValue { $0.faults.append(words) } }

    func add(_ event: Event) {
        if case .received(let message) = event { box.withLockedValue { $0.received += message.byteCount } }
        continuation.yield(event)
    }

    func note(_ words: String) { add(.note(words)) }

    /// Waits for the next event.
    func next() async -> Event? { await events.first { _ in true } }

    /// Waits for the next event and expects it to be this one.
    func expect(_ event: Event, sourceLocation: SourceLocation = #_sourceLocation) async {
        let next = await next()
        #expect(next == event, sourceLocation: sourceLocation)
    }

    /// Waits for the end; skips other events.
    func end() async -> Event? {
        await events.first {
            switch $0 {
            case .ended, .failed: true
            default: false
            }
        }
    }

    /// Waits until the handler is deallocated; skips other events.
    func waitUntilFreed() async { _ = await events.first { $0 == .freed } }
}

/// An inline handler whose behaviour a test sets.
///
/// It checks the guarantees: calls come on an event loop, one at a time, and `ended` comes once and last.
final class LoggedHandler: InlineHandler {
    typealias Receive = (MessageKind, RawSpan, InlineSocket) -> Void

    private let log: InlineLog
    private let onReceived: Receive
    private let onOpened, onWritable: (InlineSocket) -> Void
    private var (isBusy, isOver) = (false, false)
    /// The socket, kept after the end to test that it has no effect.
    private var socket: InlineSocket?

    init(
        _ log: InlineLog, opened: @escaping (InlineSocket) -> Void = { _ in }, writable: @escaping (InlineSocket) -> Void = { _ in },
        received: @escaping Receive
    ) {
        (self.log, onOpened, onWritable, onReceived) = (log, opened, writable, received)
    }

    deinit { log.add(.freed) }

    func opened(_ socket: InlineSocket) {
        begin("opened")
        self.socket = socket
        log.add(.opened)
        onOpened(socket)
        isBusy = false
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {
        begin("received")
        onReceived(kind, bytes, socket)
        isBusy = false
    }

    func writable(_ socket: InlineSocket) {
        begin("writable")
        log.add(.writable)
        onWritable(socket)
        isBusy = false
    }

    func ended(_ result: Result<CloseRecord, TransportError>) {
        begin("ended")
        isOver = true
        if socket?.send(.text("too late")) == true { log.fault("a message is accepted after the end") }
        socket?.close()
        isBusy = false
        switch result {
        case .success(let record): log.add(.ended(record))
        case .failure(let error): log.add(.failed(error.code, error.record))
        }
    }

    private func begin(_ call: String) {
        if MultiThreadedEventLoopGroup.currentEventLoop == nil { log.fault("\(call) is not called on an event loop") }
        if isBusy { log.fault("\(call) is called inside another call") }
        if isOver { log.fault("\(call) is called after the end") }
        isBusy = true
    }
}

extension LoggedHandler {
    /// Echoes every message.
    static func echo(_ log: InlineLog) -> LoggedHandler {
        LoggedHandler(log) { kind, bytes, socket in
            if !socket.send(kind, bytes) { log.fault("an echo is refused") }
        }
    }

    /// Logs every message.
    static func sink(_ log: InlineLog) -> LoggedHandler {
        LoggedHandler(log) { kind, bytes, _ in log.add(.received(Message(kind, bytes))) }
    }
}

extension Message {
    /// Copies the bytes that an inline handler received.
    init(_ kind: MessageKind, _ bytes: RawSpan) {
        self = bytes.withUnsafeBytes { kind == .text ? .text(String(decoding: $0, as: UTF8.self)) : .binary(Array($0)) }
    }

    /// A message of this length that differs from its neighbours.
    static func sample(_ kind: MessageKind, _ size: Int, _ number: Int = 0) -> Message {
        let start = number % 1000
        switch kind {
        case .text: return .text(String(decoding: SampleBytes.text[start..<start + size], as: UTF8.self))
        case .binary: return .binary(Array(SampleBytes.binary[start..<start + size]))
        }
    }
}

/// Bytes without short repetitions; made once because that takes a while.
private enum SampleBytes {
    static let binary: [UInt8] = {
        var random = SplitMix64(seed: 2026)
        var bytes = (0..<64 << 10).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        while bytes.count < 4 << 20 { bytes += bytes.dropFirst(bytes.count / 61) }
        return bytes
    }()
    static let text = binary.map { $0 & 0x3F | 0x20 }
}

extension WebSocketServer {
    /// Serves every connection with a handler that `make` returns.
    static func inline(
        _ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }, _ make: @escaping @Sendable () -> any InlineHandler
    ) -> WebSocketServer {
        var configuration = WebSocketServerConfiguration()
        configure(&configuration)
        return WebSocketServer(configuration: configuration, inline: { _ in make() })
    }
}
