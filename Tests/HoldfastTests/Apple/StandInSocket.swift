import Holdfast
import HoldfastTesting
import WebSocketRuntime
import WebSocketApple

/// A stand-in for `URLSessionWebSocketTask` that works over one end of a pair in memory.
///
/// It behaves like the real one: it delivers one message per receive call and does not react to silence.
/// It reports the peer's close frame as an event, and then fails further receive calls.
final class StandInSocket: SystemSocket {
    private let end: MemoryTransport
    private let orders: AsyncStream<Order>
    private let order: AsyncStream<Order>.Continuation
    private let reading: AsyncStream<Taker>
    private let read: AsyncStream<Taker>.Continuation
    private let task = LockedValue<Task<Void, Never>?>(nil)

    private typealias Taker = @Sendable (Result<Message, SystemFailure>) -> Void
    private enum Order: Sendable {
        case send(Message, @Sendable (SystemFailure?) -> Void)
        case close(CloseFrame)
    }

    init(_ end: MemoryTransport) {
        self.end = end
        (orders, order) = AsyncStream.makeStream()
        (reading, read) = AsyncStream.makeStream()
    }

    deinit { task.withLockedValue { $0?.cancel() } }

    func start(_ handle: @escaping @Sendable (SystemEvent) -> Void) {
        let (end, orders, reading) = (end, orders, reading)
        let running = Task {
            await withTaskGroup { group in
                group.addTask { for await order in orders { await Self.carryOut(order, end) } }
                group.addTask { for await take in reading { take(await Self.next(end)) } }
                group.addTask {
                    _ = await end.ended()
                    if let frame = end.closeRecord?.received {
                        handle(.closed(code: Int(frame.code?.rawValue ?? 1005), reason: Array(frame.reason.utf8)))
                        handle(.ended(nil))
                    } else {
                        handle(.ended(.standInLost))
                    }
                }
            }
        }
        task.withLockedValue { $0 = running }
        handle(.opened(Agreement(response: ResponseHead(status: 101))))
    }

    func receive(_ take: @escaping @Sendable (Result<Message, SystemFailure>) -> Void) { read.yield(take) }
    func send(_ message: Message, _ done: @escaping @Sendable (SystemFailure?) -> Void) { order.yield(.send(message, done)) }

    func ping(_ done: @escaping @Sendable (SystemFailure?) -> Void) {
        Task { [end] in
            do throws(TransportError) {
                _ = try await end.ping(timeout: .seconds(3600))
                done(nil)
            } catch { done(.standInLost) }
        }
    }

    func close(code: Int, reason: [UInt8]) {
        let code = code == 1005 ? nil : CloseCode(rawValue: UInt16(code))
        order.yield(.close(CloseFrame(code, reason: String(decoding: reason, as: UTF8.self))))
    }

    func abort() { end.abort() }

    private static func carryOut(_ order: Order, _ end: MemoryTransport) async {
        switch order {
        case .send(let message, let done):
            guard (try? await send(message, end)) != nil else { return done(.standInLost) }
            end.whenWritten { done($0 ? nil : .standInLost) }
        case .close(let frame): _ = await end.close(frame)
        }
    }

    /// Sends a long message in several frames, so that its receiver may take it in pieces.
    private static func send(_ message: Message, _ end: MemoryTransport) async throws {
        guard case .binary(let bytes) = message, bytes.count > pieceSize else { return try await end.send(message) }
        let ticket = try await end.beginMessage()
        for start in stride(from: 0, to: bytes.count, by: pieceSize) {
            let piece = Array(bytes[start..<min(start + pieceSize, bytes.count)])
            try await end.send(MessageChunk(kind: .binary, bytes: piece, isLast: start + piece.count == bytes.count), of: ticket)
        }
    }

    private static let pieceSize = 1 << 18

    private static func next(_ end: MemoryTransport) async -> Result<Message, SystemFailure> {
        guard case .message(let message)? = try? await end.receive() else { return .failure(.standInLost) }
        return .success(message)
    }
}

extension SystemFailure {
    /// The system's error without a connection: ENOTCONN of Darwin.
    static let standInLost = SystemFailure(domain: "NSPOSIXErrorDomain", code: 57, detail: "Socket is not connected")
}

/// Runs `body` with the transport for the system's WebSocket over a stand-in, its peer, and the link between them.
func withStandInSocket(
    _ configuration: WebSocketConfiguration,
    _ body: (_ client: any MessageTransport, _ server: any MessageTransport, _ link: TransportKind.Link) async throws -> Void
) async throws {
    var settings = WebSocketConfiguration()
    settings.limits = configuration.limits
    (settings.limits.message, settings.limits.receiveBuffer) = (1 << 30, 1)
    settings.timeouts = configuration.timeouts
    (settings.timeouts.pingInterval, settings.timeouts.ping, settings.timeouts.stall) = (nil, .seconds(3600), .seconds(3600))
    settings.timeouts.close = .seconds(3600)
    let (near, far) = MemoryTransport.pair(client: settings, server: configuration)
    let client = try await URLSessionTransport.open(StandInSocket(near), SystemSettings(configuration))
    defer { client.abort() }
    let link = TransportKind.Link {
        far.stall()
    } resume: {
        far.resume()
    } cut: {
        far.cut()
    }
    try await body(client, far, link)
}
