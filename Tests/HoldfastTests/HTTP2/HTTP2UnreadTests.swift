import WebSocketRuntime
import NIOCore
import NIOPosix
import ScriptedPeers
import Testing
import WebSocketCore
import WebSocketNIO

/// How the server releases the streams of a client that requests too much at once.
@Suite struct HTTP2UnreadTests {
    /// A weak reference to a stream.
    private struct WeakStream: Sendable {
        weak let stream: (any Channel)?
    }

    @Test func `streams beyond the server's limit are released with the connection that they end`() async throws {
        let streams = LockedValue<[WeakStream]>([])
        let full = HTTP2ServerOptions(version: .http2, offersWebSockets: true, maximumStreams: 1000, idleTimeout: .seconds(60)) { stream in
            streams.withLockedValue { $0.append(WeakStream(stream: stream)) }
            return nil
        }
        let options = ServerOptions(decide: nil) { _, _ in .init(head: ResponseHead(status: 404, headers: [:]), body: []) }
        let ended = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Void.self)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { connection in
                connection.closeFuture.cascade(to: ended)
                return connection.eventLoop.makeCompletedFuture {
                    let handler = HTTPVersionHandler(options, full, at: Arrivals(on: connection.eventLoop)) { _, _, _ in }
                    try connection.syncOptions?.setOption(.autoRead, value: false)
                    try connection.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let peer = try await ScriptedPeer.connect(to: server.localAddress?.port ?? 0)
        let get: [UInt8] = [0x82, 0x86, 0x84]
        let requests = (0..<300).flatMap { HTTP2Wire.frame(.headers, flags: 5, stream: 2 * $0 + 1, get) }
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        try await peer.send(preface + HTTP2Wire.frame(.settings) + HTTP2Wire.frame(.settings, flags: 1))
        _ = try await peer.http2(.settings)
        try await peer.send(requests)
        try await ended.futureResult.get()
        _ = await peer.readToEnd()
        #expect(streams.withLockedValue { $0.count } > 100)
        #expect(await Sight.eventually { streams.withLockedValue { $0.allSatisfy { $0.stream == nil } } })
        try await server.close()
    }
}
