package import NIOCore
import NIOPosix

/// Runs `body` against a server on this machine that runs `script` for each connection, one after the other.
///
/// Ends when `body` and the scripts have ended; throws what they throw.
///
/// - Parameters:
///   - reads: False for a server that does not read until told to.
///   - prepare: Adds handlers to the start of the pipeline, such as TLS.
///   - script: The server's side of a connection; the server closes at its end.
///   - body: The client's side; it gets the URL.
package func withScriptedServer<Result: Sendable>(
    reads: Bool = true, prepare: @escaping @Sendable (any Channel) throws -> Void = { _ in },
    _ script: @escaping @Sendable (ScriptedPeer) async throws -> Void,
    client body: (_ url: String) async throws -> Result
) async throws -> Result {
    let (peers, continuation) = AsyncStream.makeStream(of: ScriptedPeer.self)
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelOption(.autoRead, value: reads)
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelInitializer { channel in
            let (arrivals, arrived) = AsyncStream.makeStream(of: [UInt8].self)
            continuation.yield(ScriptedPeer(channel, arrivals))
            return channel.eventLoop.makeCompletedFuture {
                try prepare(channel)
                try channel.pipeline.syncOperations.addHandler(Arrivals(arrived))
            }
        }
        .bind(host: "127.0.0.1", port: 0).get()
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            for await peer in peers {
                try await script(peer)
                await peer.close()
            }
        }
        defer { listener.close(promise: nil) }
        let result = try await body("ws://127.0.0.1:\(listener.localAddress?.port ?? 0)/")
        continuation.finish()
        try await group.waitForAll()
        return result
    }
}
