import Foundation
import NIOCore
import NIOPosix

/// One end of a TCP connection that says byte for byte what a test tells it to, right or wrong.
package actor ScriptedPeer {
    /// The connection ended before what was awaited had come.
    package struct Ended: Error {
        package init() {}
    }

    let channel: any Channel
    private let arrivals: AsyncStream<[UInt8]>
    private var received: [UInt8] = []

    /// Connects to a port of this machine.
    ///
    /// - Parameter buffer: How many bytes the system may take for it in advance; by default as many as it likes.
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

    /// Sends bytes in one piece; returns when the system has taken them.
    package func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Sends text in one piece.
    package func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Sends each byte by itself.
    package func sendByteByByte(_ bytes: [UInt8]) async throws {
        for byte in bytes { try await send([byte]) }
    }

    /// The next `count` bytes.
    package func read(_ count: Int) async throws -> [UInt8] {
        while received.count < count { try await readMore() }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    /// Everything up to and with `end`.
    package func read(through end: String) async throws -> String {
        let end = Array(end.utf8)
        while true {
            if let range = received.firstRange(of: end) {
                return String(decoding: try await read(range.upperBound), as: UTF8.self)
            }
            try await readMore()
        }
    }

    /// All that comes before the other side ends the connection.
    package func readToEnd() async -> [UInt8] {
        while (try? await readMore()) != nil {}
        defer { received = [] }
        return received
    }

    /// Takes what comes from now on.
    package func startReading() async throws { try await channel.setOption(.autoRead, value: true).get() }

    /// Takes nothing from now on, so that TCP fills up.
    package func stopReading() async throws { try await channel.setOption(.autoRead, value: false).get() }

    /// Takes at least this much of what waits, although it was told to take nothing.
    package func take(atLeast count: Int) async throws {
        let enough = received.count + count
        while received.count < enough {
            channel.read()
            try await readMore()
        }
    }

    /// Hangs up.
    package func close() async { try? await channel.close() }

    /// Hangs up so that the other side learns of it at once, even if it reads nothing (RST).
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

/// Passes on what a channel receives.
final class Arrivals: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let continuation: AsyncStream<[UInt8]>.Continuation

    init(_ continuation: AsyncStream<[UInt8]>.Continuation) { self.continuation = continuation }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { continuation.yield(Array(buffer: unwrapInboundIn(data))) }

    func channelInactive(context: ChannelHandlerContext) { continuation.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
