package import NIOCore
package import WebSocketCore

/// A request of plain HTTP, and the way its answer goes, for a task that answers it.
package struct PlainExchange: Sendable {
    /// Why it did not come to its end.
    package enum Failure: Error, Hashable, Sendable {
        /// The request had not arrived by its deadline.
        case tooSlow
        /// The connection has closed, or the answer has ended already.
        case over
    }

    /// More of an answer is never handed to the connection at once, and has to have left in time.
    private static let pieceSize = 64 * 1024

    package let request: RequestHead
    package let channel: any Channel
    private let handler: NIOLoopBound<PlainExchangeHandler>

    init(_ request: RequestHead, _ handler: PlainExchangeHandler, on channel: any Channel) {
        (self.request, self.channel) = (request, channel)
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
    }

    /// The next bytes of the request's body, which are read from the connection only now; nil at its end.
    ///
    /// - Throws: ``Failure``, or a `HandshakeFailure` if the body breaks a rule of HTTP.
    package func nextPart() async throws -> ByteBuffer? {
        try await channel.eventLoop.flatSubmit { [handler] in handler.value.nextPart() }.get()
    }

    /// Begins the answer, and decides whether the connection may have another request: not if some of the body is still to come.
    ///
    /// - Parameters:
    ///   - head: Without fields that say how the body is framed; in answer to HEAD its Content-Length stays.
    ///   - length: How long the body will be; nil: that is not known.
    /// - Throws: ``Failure/over``.
    package func begin(_ head: ResponseHead, length: Int?) async throws {
        try await channel.eventLoop.flatSubmit { [handler] in handler.value.begin(head, length: length) }.get()
    }

    /// Sends some of the answer's body, and waits until the system has taken it.
    ///
    /// - Throws: ``Failure/over``, or why the connection has closed: the client may have been too slow.
    package func write(_ bytes: ByteBuffer) async throws {
        var bytes = bytes
        while let piece = bytes.readSlice(length: min(bytes.readableBytes, Self.pieceSize)), piece.readableBytes > 0 {
            try await channel.eventLoop.flatSubmit { [handler] in handler.value.write(piece) }.get()
        }
    }

    /// Ends the answer, and waits until the system has taken it.
    ///
    /// - Throws: As ``write(_:)``.
    package func end() async throws {
        try await channel.eventLoop.flatSubmit { [handler] in handler.value.finish() }.get()
    }

    /// Ends it in any case: with status 500 if no answer has begun, by closing the connection if one has not ended.
    package func conclude() async {
        try? await channel.eventLoop.submit { [handler] in handler.value.abandon() }.get()
    }

    /// The request's body, part by part.
    package struct Body: AsyncSequence, Sendable {
        package struct Iterator: AsyncIteratorProtocol, Sendable {
            let exchange: PlainExchange

            package mutating func next() async throws -> ByteBuffer? { try await exchange.nextPart() }
        }
        let exchange: PlainExchange

        package func makeAsyncIterator() -> Iterator { Iterator(exchange: exchange) }
    }

    /// The request's body, to be read once.
    package var body: Body { Body(exchange: self) }
}

/// Whoever answers, on a server's connections, the requests that ask for no WebSocket.
///
/// One request after the other: nothing is read of the next before the answer to the one before has left. All is called on the event
/// loop.
package struct PlainGuests: Sendable {
    /// How long a request may keep its connection waiting.
    package struct Times: Hashable, Sendable {
        /// From the first byte of a request, or the beginning of its connection, to the last of its body.
        package var request: Duration = .seconds(10)
        /// Until 64 KiB of an answer have left, or as much as there is.
        package var write: Duration = .seconds(10)
        /// From one request's answer to the next request.
        ///
        /// Longer than proxies keep a connection that they do not use, 60 s as nginx comes: who closes first never meets a request that is on
        /// its way. How many an address may keep so is bounded elsewhere.
        package var idle: Duration = .seconds(75)

        package init() {}
    }

    /// Finds a connection a seat; nil: there is none free, and the server answers itself.
    ///
    /// The connection lets go of the seat when it closes, and when it becomes a WebSocket.
    package var seat: @Sendable (any Channel) -> (any Sendable & AnyObject)?
    /// Starts whoever answers; false: nobody does, for the server is ending.
    package var take: @Sendable (PlainExchange) -> Bool
    /// Told that an exchange that was taken is over.
    package var onEnd: @Sendable (any Channel) -> Void
    package var times: Times

    package init(
        seat: @escaping @Sendable (any Channel) -> (any Sendable & AnyObject)?, take: @escaping @Sendable (PlainExchange) -> Bool,
        onEnd: @escaping @Sendable (any Channel) -> Void, times: Times
    ) {
        (self.seat, self.take, self.onEnd, self.times) = (seat, take, onEnd, times)
    }
}
