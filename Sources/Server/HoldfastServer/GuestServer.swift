package import NIOCore
package import WebSocketCore
package import WebSocketNIO

/// Another HTTP server on the port of a ``WebSocketServer``.
///
/// It answers the requests that ask for no WebSocket, one after the other on each connection, which may ask for a WebSocket at last. The
/// connection counts as one of the server's, and the graceful end of the server waits for a request that is being answered.
package struct GuestServer: Sendable {
    /// Finds a connection a seat; nil: there is none free.
    ///
    /// The seat is let go of when the connection closes or becomes a WebSocket.
    package var seat: @Sendable (any Channel) -> (any Sendable & AnyObject)?
    /// Answers a request; cancelled when the server's patience ends.
    package var answer: @Sendable (PlainExchange) async -> Void
    /// Answers a request of a connection that has no seat, or that the server has no room for: without its body, and it is the last.
    package var turnAway: @Sendable (RequestHead, SocketAddress?) async -> HTTPResponse
    /// How long requests and answers may take.
    package var times = PlainGuests.Times()

    /// Makes a server.
    package init(
        seat: @escaping @Sendable (any Channel) -> (any Sendable & AnyObject)?, answer: @escaping @Sendable (PlainExchange) async -> Void,
        turnAway: @escaping @Sendable (RequestHead, SocketAddress?) async -> HTTPResponse
    ) {
        (self.seat, self.answer, self.turnAway) = (seat, answer, turnAway)
    }
}

/// Runs what serves the requests of a ``GuestServer``.
struct GuestList: Sendable {
    let server: GuestServer
    private let channels: ChannelRegistry
    // No longer than there are connections, whose number is bounded.
    private let visits: AsyncStream<PlainExchange>
    private let arriving: AsyncStream<PlainExchange>.Continuation

    init(_ server: GuestServer, _ channels: ChannelRegistry) {
        (self.server, self.channels) = (server, channels)
        (visits, arriving) = AsyncStream.makeStream()
    }

    /// What the connections are told of it.
    var guests: PlainGuests {
        PlainGuests(
            seat: server.seat,
            take: { exchange in
                guard channels.host(exchange.channel) else { return false }
                arriving.yield(exchange)
                return true
            }, onEnd: { channels.dismiss($0) }, times: server.times)
    }

    /// Runs until the server is closing and nobody is left.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                await channels.drained()
                arriving.finish()
            }
            for await exchange in visits {
                group.addTask {
                    await server.answer(exchange)
                    await exchange.conclude()
                }
            }
        }
    }
}
