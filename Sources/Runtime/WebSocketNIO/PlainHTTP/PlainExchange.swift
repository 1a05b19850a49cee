package import NIOCore
package import WebSocketCore

/// A plain HTTP request with its response, for the task that answers it.
package struct PlainExchange: Sendable {
    /// The reason why an exchange did not complete.
    package enum Failure: Error, Hashable, Sendable {
        /// The request had not arrived by its deadline.
        case tooSlow
        /// The connection has closed, or the response has already ended.
        case over
    }

    /// The maximum size of a piece of the body given to the connection at once; each must be sent in time.
    private static let pieceSize = 64 * 1024

    package let request: RequestHead
    package let channel: any Channel
    private let handler: NIOLoopBound<PlainExchangeHandler>

    init(_ request: RequestHead, _ handler: PlainExchangeHandler, on channel: any Channel) {
        (self.request, self.channel) = (request, channel)
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
    }

    /// Returns the next bytes of the request's body, which are only now read from the connection; nil at its end.
    ///
    /// - Throws: ``Failure``, or a `HandshakeFailure` if the body violates HTTP.
    package func nextPart() async throws -> ByteBuffer? {
        try await channel.eventLoop.flatSubmit { [handler] in handler.value.nextPart() }.get()
    }

    /// Begins the response, and decides whether the connection is reused: not if part of the request's body is still to come.
    ///
    /// - Parameters:
    ///   - head: The head, without fields for the framing of the body; in a response to HEAD its Content-Length is kept.
    ///   - length: The length of the body; nil if it is not known.
    /// - Throws: ``Failure/over``.
    package func begin(_ head: ResponseHead, length: Int?) async throws {
        try await channel.eventLoop.flatSubmit { [handler] in handler.value.begin(head, length: length) }.get()
    }

    /// Sends a part of the response's body, and waits until the system has accepted it.
    ///
    /// - Throws: ``Failure/over``, or the reason why the connection has closed, for example because the client was too slow.
    package func write(_ bytes: ByteBuffer) async throws {
        var bytes = bytes
        while let piece = bytes.readSlice(length: min(bytes.readableBytes, Self.pieceSize)), piece.readableBytes > 0 {
            try await channel.eventLoop.flatSubmit { [handler] in handler.value.write(piece) }.get()
        }
    }

    /// Ends the response, and waits until the system has accepted it.
    ///
    /// - Throws: The same errors as ``write(_:)``.
    package func end() async throws {
        try await channel.eventLoop.flatSubmit { [handler] in handler.value.finish() }.get()
    }

    /// Ends the exchange in any state: with status 500 if no response has begun, or by closing an unfinished one's connection.
    package func conclude() async {
        try? await channel.eventLoop.submit { [handler] in handler.value.abandon() }.get()
    }

    /// The request's body in parts.
    package struct Body: AsyncSequence, Sendable {
        package struct Iterator: AsyncIteratorProtocol, Sendable {
            let exchange: PlainExchange

            package mutating func next() async throws -> ByteBuffer? { try await exchange.nextPart() }
        }
        let exchange: PlainExchange

        package func makeAsyncIterator() -> Iterator { Iterator(exchange: exchange) }
    }

    /// The request's body, which can be read only once.
    package var body: Body { Body(exchange: self) }
}

/// The handling of plain HTTP requests on a server's connections, which ask for no WebSocket.
///
/// Requests are handled one after the other: the next one is not read before the previous response was sent. All closures are called on
/// the event loop.
package struct PlainGuests: Sendable {
    /// The timeouts of plain HTTP requests.
    package struct Times: Hashable, Sendable {
        /// The time from the first byte of a request, or the start of its connection, to the last byte of its body.
        package var request: Duration = .seconds(10)
        /// The time until 64 KiB of a response, or all of it, were sent.
        package var write: Duration = .seconds(10)
        /// The time from a response to the next request.
        ///
        /// It is longer than proxies keep an unused connection, which is 60 s for nginx by default: the side that closes first never
        /// meets a request in flight. The number of such connections per address is limited elsewhere.
        package var idle: Duration = .seconds(75)

        package init() {}
    }

    /// Reserves a permit for a connection; returns nil if none is free, and the server answers by itself.
    ///
    /// The connection releases the permit when it closes, and when it becomes a WebSocket.
    package var permit: @Sendable (any Channel) -> (any Sendable & AnyObject)?
    /// Starts the task that answers; returns false if the server is shutting down.
    package var take: @Sendable (PlainExchange) -> Bool
    /// Called when an exchange that was taken has ended.
    package var onEnd: @Sendable (any Channel) -> Void
    package var times: Times

    package init(
        permit: @escaping @Sendable (any Channel) -> (any Sendable & AnyObject)?, take: @escaping @Sendable (PlainExchange) -> Bool,
        onEnd: @escaping @Sendable (any Channel) -> Void, times: Times
    ) {
        (self.permit, self.take, self.onEnd, self.times) = (permit, take, onEnd, times)
    }
}
