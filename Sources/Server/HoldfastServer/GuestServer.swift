package import NIOCore
package import WebSocketCore
package import WebSocketNIO

/// Another HTTP server on the port of a ``WebSocketServer``.
///
/// It answers plain HTTP requests, one after another on each connection; the last one may ask for a WebSocket. The connection counts as one
/// of the server's, and a graceful shutdown waits for requests in progress.
package struct GuestServer: Sendable {
    /// Reserves a place for a connection; returns nil if none is free.
    ///
    /// The place is released when the connection closes or becomes a WebSocket.
    package var permit: @Sendable (any Channel) -> (any Sendable & AnyObject)?
    /// Answers a request; cancelled when the shutdown time limit ends.
    package var answer: @Sendable (PlainExchange) async -> Void
    /// Answers a request of a connection without a place, or beyond the server's limit.
    ///
    /// The body is not read, and the connection ends.
    package var turnAway: @Sendable (RequestHead, SocketAddress?) async -> HTTPResponse
    /// The time limits for requests and answers.
    package var times = PlainGuests.Times()

    /// Creates a server.
    package init(
        permit: @escaping @Sendable (any Channel) -> (any Sendable & AnyObject)?, answer: @escaping @Sendable (PlainExchange) async -> Void,
        turnAway: @escaping @Sendable (RequestHead, SocketAddress?) async -> HTTPResponse
    ) {
        (self.permit, self.answer, self.turnAway) = (permit, answer, turnAway)
    }
}

/// Runs the tasks that answer the requests of a ``GuestServer``.
struct GuestList: Sendable {
    let server: GuestServer
    private let channels: ChannelRegistry
    // No longer than the number of connections, which is limited.
    private let exchanges: AsyncStream<PlainExchange>
    private let arriving: AsyncStream<PlainExchange>.Continuation

    init(_ server: GuestServer, _ channels: ChannelRegistry) {
        (self.server, self.channels) = (server, channels)
        (exchanges, arriving) = AsyncStream.makeStream()
    }

    /// The settings for the connections.
    var guests: PlainGuests {
        PlainGuests(
            permit: server.permit,
            take: { exchange in
                guard channels.host(exchange.channel) else { return false }
                arriving.yield(exchange)
                return true
            }, onEnd: { channels.dismiss($0) }, times: server.times)
    }

    /// Runs until the server is closing and no connection is left.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                await channels.drained()
                arriving.finish()
            }
            for await exchange in exchanges {
                group.addTask {
                    await server.answer(exchange)
                    await exchange.conclude()
                }
            }
        }
    }
}
