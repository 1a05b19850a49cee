public import WebSocketCore

/// Something received: a whole message, or a piece of one.
public enum Received: Hashable, Sendable {
    /// A whole message.
    case message(Message)
    /// A piece of a message, in order; see ``Delivery/chunks``.
    case chunk(MessageChunk)
}

/// A two-way stream of messages: a WebSocket over TCP, in memory, or the system's own.
///
/// All members may be called from any task at any time. Every call returns: on success, on
/// failure, at its deadline, or when its task is cancelled.
public protocol MessageTransport: AnyObject, Sendable {
    /// What the opening handshake agreed on.
    var agreement: Agreement { get }

    /// Which end this is.
    var role: Role { get }

    /// Who closed and with which codes; nil while the connection is open.
    var closeRecord: CloseRecord? { get }

    /// What it has carried so far; all zeros from a transport that does not count.
    var traffic: LinkTraffic { get }

    /// Waits for the end, whether or not all messages were taken: how it closed, or why it failed.
    ///
    /// A link that was cut while bytes wait unparsed, for the app did not keep up, ends when they are taken or it is aborted.
    /// The only wait that cancellation does not end; ``abort()`` does.
    func ended() async -> Result<CloseRecord, TransportError>

    /// Waits for the next message or piece; nil after a clean end.
    ///
    /// Cancelling the task ends the wait with ``TransportError/Code/cancelled`` and loses nothing.
    func receive() async throws(TransportError) -> Received?

    /// Hands a message to the send buffer; waits while the buffer is full.
    ///
    /// Messages leave in the order in which they were accepted and are never mixed.
    func send(_ message: Message) async throws(TransportError)

    /// Hands a message over without waiting; false if the send buffer is full.
    func offer(_ message: Message) throws(TransportError) -> Bool

    /// Reserves the right to send one message in pieces; other messages wait meanwhile.
    func beginMessage() async throws(TransportError) -> MessageTicket

    /// Hands over the next piece of the message that `ticket` stands for; its last piece returns the right.
    func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError)

    /// Gives up a message begun with ``beginMessage()``; if pieces of it are out, the connection is closed with 1011.
    func abandon(_ ticket: MessageTicket)

    /// Tells once whether the socket has taken every byte of what was accepted for sending before this call.
    ///
    /// With true as soon as it has, with false if the connection ended first. Nothing is said of what the peer has got. `body` runs on
    /// whatever thread knows of it, and must not block.
    func whenWritten(_ body: @escaping @Sendable (_ isWritten: Bool) -> Void)

    /// Sends a ping and waits for its pong. Returns the round trip time.
    func ping(timeout: Duration) async throws(TransportError) -> Duration

    /// Asks the peer at once whether it lives, for there is a reason to doubt it: silence for the time of a pong fails the connection.
    func probe()

    /// Silence of this length calls for an automatic ping from now on; nil for none. The present silence counts from its start.
    func setPingInterval(_ interval: Duration?)

    /// Tells `observer` what is measured from now on, in place of whoever was told before; nil: nobody is.
    ///
    /// It is let go when the connection ends.
    func observe(_ observer: (any LinkObserver)?)

    /// Performs the close handshake, after what was accepted for sending; returns when the outcome is known.
    func close(_ frame: CloseFrame) async -> CloseRecord

    /// Drops the link at once, without a close handshake.
    func abort()
}

extension MessageTransport {
    /// For a transport whose socket does not tell: nothing counts as written, and that is told when the connection has ended.
    public func whenWritten(_ body: @escaping @Sendable (_ isWritten: Bool) -> Void) {
        // SAFETY: ends with the connection, as every transport promises.
        Task {
            _ = await ended()
            body(false)
        }
    }

    /// Nothing: this transport does not count.
    public var traffic: LinkTraffic { LinkTraffic() }
}

/// The right to send one message in pieces.
public struct MessageTicket: Hashable, Sendable {
    let number: UInt64
}

/// A transport that collects what it receives in a queue, of which all can be taken at once: cheaper than message by message.
package protocol BatchTransport: MessageTransport {
    /// What was received and not yet taken.
    var inbound: InboundQueue { get }
}
