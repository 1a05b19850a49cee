public import WebSocketCore

/// A received element: a whole message, or a piece of one.
public enum Received: Hashable, Sendable {
    /// A whole message.
    case message(Message)
    /// A piece of a message, in order; see ``Delivery/chunks``.
    case chunk(MessageChunk)
}

/// A bidirectional stream of messages: a WebSocket over TCP, in memory, or the system's own.
///
/// All members may be called from any task at any time. Every call returns: on success, on failure, at its deadline, or when its task is
/// cancelled.
public protocol MessageTransport: AnyObject, Sendable {
    /// The result of the opening handshake.
    var agreement: Agreement { get }

    /// Whether this is the client or the server.
    var role: Role { get }

    /// Which side closed, and with which codes; nil while the connection is open.
    var closeRecord: CloseRecord? { get }

    /// The traffic so far; all zeros for a transport that does not count.
    var traffic: LinkTraffic { get }

    /// Waits for the end of the connection, whether or not all messages were taken; returns how it closed or why it failed.
    ///
    /// If the link was cut while unparsed bytes wait for a slow app, the connection ends when these are taken or it is aborted. This is
    /// the only wait that cancellation does not end; ``abort()`` does.
    func ended() async -> Result<CloseRecord, TransportError>

    /// Waits for the next message or piece; returns nil after a clean end.
    ///
    /// Cancelling the task ends the wait with ``TransportError/Code/cancelled``; no message is lost.
    func receive() async throws(TransportError) -> Received?

    /// Adds a message to the send buffer; waits while the buffer is full.
    ///
    /// Messages are sent in the order in which they were accepted, and are never interleaved.
    func send(_ message: Message) async throws(TransportError)

    /// Adds a message to the send buffer without waiting; returns false if the buffer is full.
    func offer(_ message: Message) throws(TransportError) -> Bool

    /// Reserves the right to send one message in pieces; other messages wait meanwhile.
    func beginMessage() async throws(TransportError) -> MessageTicket

    /// Sends the next piece of the message of `ticket`; the last piece gives up the reservation.
    func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError)

    /// Abandons a message begun with ``beginMessage()``; if pieces of it were sent, the connection is closed with 1011.
    func abandon(_ ticket: MessageTicket)

    /// Reports once whether the socket has accepted every byte of all messages accepted for sending before this call.
    ///
    /// `body` is called with true as soon as this is the case, and with false if the connection ends first. It says nothing about what
    /// the peer has received. `body` runs on any thread, and must not block.
    func whenWritten(_ body: @escaping @Sendable (_ isWritten: Bool) -> Void)

    /// Sends a ping and waits for its pong; returns the round-trip time.
    func ping(timeout: Duration) async throws(TransportError) -> Duration

    /// Checks at once whether the peer is alive, when there is a reason to doubt it; the connection fails if nothing arrives in time for a pong.
    func probe()

    /// Sets the length of silence after which an automatic ping is sent (nil: none); the current silence counts from its start.
    func setPingInterval(_ interval: Duration?)

    /// Sets the observer of the connection's measurements, which replaces the previous one; nil removes it.
    ///
    /// The connection releases the observer when it ends.
    func observe(_ observer: (any LinkObserver)?)

    /// Performs the close handshake after all accepted messages were sent; returns when the outcome is known.
    func close(_ frame: CloseFrame) async -> CloseRecord

    /// Drops the link at once, without a close handshake.
    func abort()
}

extension MessageTransport {
    /// Default for transports whose socket does not report writes: calls `body` with false when the connection has ended.
    public func whenWritten(_ body: @escaping @Sendable (_ isWritten: Bool) -> Void) {
        // SAFETY: ends with the connection, as every transport guarantees.
        Task {
            _ = await ended()
            body(false)
        }
    }

    /// All zeros, for transports that do not count.
    public var traffic: LinkTraffic { LinkTraffic() }
}

/// The reservation to send one message in pieces.
public struct MessageTicket: Hashable, Sendable {
    let number: UInt64
}

/// A transport that collects received messages in a queue; taking all of them at once is cheaper than one by one.
package protocol BatchTransport: MessageTransport {
    /// The queue of received messages.
    var inbound: InboundQueue { get }
}
