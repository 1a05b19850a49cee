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
}

extension PlainExchange {
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
