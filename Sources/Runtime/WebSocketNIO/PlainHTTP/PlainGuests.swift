package import NIOCore

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
