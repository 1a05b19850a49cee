public import WebSocketCore

/// Why a connection, or an attempt at one, was lost.
public enum LossCause: Hashable, Sendable {
    /// The server answered the upgrade with this HTTP status instead of 101.
    case refused(status: Int)
    /// The connection closed with this code, and this side had sent the first close frame.
    ///
    /// `.local` means that someone on this side closed it on purpose. A close that followed from a fault, such as
    /// silence or a broken protocol, is told as that fault.
    case closed(CloseCode, by: CloseRecord.Side = .remote)
    /// The link ended without a close frame (1006).
    case lost
    /// The peer did not answer a ping in time.
    case unresponsive
    /// The peer stopped reading for longer than allowed.
    case stalled
    /// A deadline passed while connecting or shaking hands.
    case timedOut
    /// The host's name could not be resolved.
    case unresolved
    /// No connection could be made: refused, no route, network down.
    case unreachable
    /// TLS failed: an unknown authority, a wrong host, an expired certificate, no common version.
    case tls
    /// The opening handshake was malformed, or the peer agreed to something that was not offered.
    case invalidHandshake
    /// The peer broke RFC 6455 or a limit other than that of a message after the handshake.
    case protocolViolation
    /// The peer sent a message, or a frame of one, that is longer than this side takes; this side closed with 1009.
    case messageTooBig
    /// The URL or the configuration cannot be honoured.
    case invalidConfiguration
    /// The app could not provide credentials; whether that may pass is its own word.
    case credentials(isRetryable: Bool)
}
