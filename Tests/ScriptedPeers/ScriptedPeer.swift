import Foundation
import NIOCore
import NIOPosix

/// One end of a TCP connection that sends exactly the bytes that a test gives it, valid or not.
package actor ScriptedPeer {
    /// The connection ended before the expected bytes arrived.
    package struct Ended: Error {
        package init() {}
    }

    let channel: any Channel
    private let arrivals: AsyncStream<[UInt8]>
    private var received: [UInt8] = []

    /// Connects to a port of this machine.
    ///
    /// The size of the system's receive buffer; by default the system decides.
    package static func connect(to port: Int, buffer: Int? = nil) async throws -> ScriptedPeer {
        let (arrivals, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        if let buffer { bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(buffer)) }
        let channel =
            try await bootstrap
            .channelInitializer { $0.pipeline.addHandler(Arrivals(continuation)) }
            .connect(host: "127.0.0.1", port: port).get()
        return ScriptedPeer(channel, arrivals)
    }

    init(_ channel: any Channel, _ arrivals: AsyncStream<[UInt8]>) { (self.channel, self.arrivals) = (channel, arrivals) }

    deinit { channel.close(promise: nil) }

    /// Sends bytes in one piece; returns when the system has accepted them.
    package func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Sends text in one piece.
    package func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Sends each byte separately.
    package func sendByteByByte(_ bytes: [UInt8]) async throws {
        for byte in bytes { try await send([byte]) }
    }

    /// Reads the next `count` bytes.
    package func read(_ count: Int) async throws -> [UInt8] {
        while received.count < count { try await readMore() }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    /// Reads through the end of `end`.
    package func read(through end: String) async throws -> String {
        let end = Array(end.utf8)
        while true {
            if let range = received.firstRange(of: end) {
                return String(decoding: try await read(range.upperBound), as: UTF8.self)
            }
            try await readMore()
        }
    }

    /// Reads everything until the other side ends the connection.
    package func readToEnd() async -> [UInt8] {
        while (try? await readMore()) != nil {}
        defer { received = [] }
        return received
    }

    /// Resumes reading.
    package func startReading() async throws { try await channel.setOption(.autoRead, value: true).get() }

    /// Stops reading, so that TCP fills up.
    package func stopReading() async throws { try await channel.setOption(.autoRead, value: false).get() }

    /// Reads at least this number of bytes though reading is stopped.
    package func take(atLeast count: Int) async throws {
        let enough = received.count + count
        while received.count < enough {
            channel.read()
            try await readMore()
        }
    }

    /// Closes the connection.
    package func close() async { try? await channel.close() }

    /// Resets the connection (RST), so that the other side notices at once, even if it reads nothing.
    package func reset() async throws {
        try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        await close()
    }

    private func readMore() async throws {
        for await bytes in arrivals {
            received += bytes
            return
        }
        throw Ended()
    }
}

/// Passes on the bytes that a channel receives.
final class Arrivals: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let continuation: AsyncStream<[UInt8]>.Continuation

    init(_ continuation: AsyncStream<[UInt8]>.Continuation) { self.continuation = continuation }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { continuation.yield(Array(buffer: unwrapInboundIn(data))) }

    func channelInactive(context: ChannelHandlerContext) { continuation.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
