package import NIOCore

/// Another HTTP server on the port of a ``WebSocketServer``.
///
/// It gets each connection whose first request asks for no WebSocket: whole, from that request's first byte on, with everything that
/// follows. The connection still counts as one of the server's, and the graceful end of the server waits for it: its pipeline is told by a
/// `ChannelShouldQuiesceEvent`.
package struct GuestServer: Sendable {
    /// Adds its handlers to the end of a connection's pipeline, on the event loop, and says what is to run until the connection ends.
    ///
    /// What runs is cancelled when the server's patience ends.
    package var admit: @Sendable (any Channel) throws -> @Sendable () async -> Void

    /// Makes a server.
    package init(admit: @escaping @Sendable (any Channel) throws -> @Sendable () async -> Void) { self.admit = admit }
}

/// Runs what serves the connections of a ``GuestServer``.
struct GuestList: Sendable {
    private let server: GuestServer
    private let channels: ChannelRegistry
    // No longer than there are connections, whose number is bounded.
    private let visits: AsyncStream<@Sendable () async -> Void>
    private let arriving: AsyncStream<@Sendable () async -> Void>.Continuation

    init(_ server: GuestServer, _ channels: ChannelRegistry) {
        (self.server, self.channels) = (server, channels)
        (visits, arriving) = AsyncStream.makeStream()
    }

    /// Lets the server have a connection; on its event loop.
    func admit(_ channel: any Channel) throws {
        guard channels.host(channel) else { throw ChannelError.ioOnClosedChannel }
        arriving.yield(try server.admit(channel))
    }

    /// Runs until the server is closing and nobody is left.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                await channels.drained()
                arriving.finish()
            }
            for await visit in visits { group.addTask { await visit() } }
        }
    }
}
