public import WebSocketCore

/// Which losses are worth another attempt: the one place where transient and fatal are told apart.
///
/// | Cause | Verdict of ``standard`` |
/// |---|---|
/// | status 401 | refresh credentials |
/// | status 408, 425, 429, 500 to 599 but 501 and 505 | retry |
/// | any other status, such as 301, 403, 404, 410, 501 | final |
/// | closed by the peer with 1000 | final |
/// | 1001, 1005, 1006, 1009, 1011, 1012, 1013, 1014, 3008 | retry |
/// | 1002, 1003, 1007, 1010, 1015, 3003 | final |
/// | 1008, 3000 | refresh credentials |
/// | 4000 to 4999, the application's own | final |
/// | any other code, which nobody has assigned | retry |
/// | closed by this side, whatever the code | final |
/// | lost, unresponsive, stalled | retry |
/// | the peer sent a message beyond the limit | retry |
/// | timed out, name not resolved, refused or no route | retry |
/// | TLS failed, invalid handshake, protocol violation, invalid configuration | final |
/// | credentials not provided | as the provider says |
///
/// A message that is too long, by either side's limit (1009), ends its connection and no more: it is not sent again by this side, and
/// whoever else uses the socket has nothing to do with it. A peer that sends it again and again meets the backoff.
///
/// An app that knows better changes single entries:
///
/// ```swift
/// var losses = LossTable.standard
/// losses[.refused(status: 404)] = .retry       // Deploys take the path away for a moment.
/// losses[.closed(.normal)] = .retry            // This server says 1000 for everything.
/// losses[.tls] = .retry                        // Captive portals.
/// losses[.messageTooBig] = .final              // A feed that sends it first thing, on each connection.
/// ```
///
/// Sources: RFC 9110 §15, RFC 6455 §7.4.1 and the IANA WebSocket Close Code registry.
public struct LossTable: Hashable, Sendable {
    /// What a loss means for the next attempt.
    public enum Verdict: Hashable, Sendable {
        /// It may pass: try again after a wait.
        case retry
        /// Try again after a wait, with new credentials; final without credentials, or if they were new.
        case refreshCredentials
        /// The same would happen again.
        case final
    }

    /// The table above, with nothing changed.
    public static let standard = LossTable()

    /// The entries that differ from the standard.
    private var changes: [LossCause: Verdict] = [:]

    private init() {}

    /// The verdict on one cause.
    public subscript(cause: LossCause) -> Verdict {
        get { changes[cause] ?? Self.standardVerdict(on: cause) }
        set { changes[cause] = newValue == Self.standardVerdict(on: cause) ? nil : newValue }
    }

    private static func standardVerdict(on cause: LossCause) -> Verdict {
        switch cause {
        case .refused(let status): verdict(onStatus: status)
        case .closed(_, by: .local): .final
        case .closed(let code, by: .remote): verdict(onCode: code.rawValue)
        case .lost, .unresponsive, .stalled, .messageTooBig, .timedOut, .unresolved, .unreachable: .retry
        case .tls, .invalidHandshake, .protocolViolation, .invalidConfiguration: .final
        case .credentials(let isRetryable): isRetryable ? .retry : .final
        }
    }

    private static func verdict(onStatus status: Int) -> Verdict {
        switch status {
        case 401: .refreshCredentials
        case 408, 425, 429: .retry
        case 501, 505: .final
        case 500...599: .retry
        default: .final
        }
    }

    private static func verdict(onCode code: UInt16) -> Verdict {
        switch code {
        case 1008, 3000: .refreshCredentials
        case 1000, 1002, 1003, 1007, 1010, 1015, 3003, 4000...4999: .final
        default: .retry
        }
    }
}

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

/// How a connection, or an attempt at one, was lost.
public struct Loss: Hashable, Sendable {
    /// Why it was lost.
    public var cause: LossCause
    /// How long the server asks to be left alone, see `HeaderFields.retryAfter`; nil if it does not say.
    public var retryAfter: Duration?
    /// Whether the link broke while a ping had met nothing but silence: perhaps something on the way had forgotten it.
    public var wasIdle: Bool

    /// A loss for this cause.
    public init(_ cause: LossCause, retryAfter: Duration? = nil, wasIdle: Bool = false) {
        (self.cause, self.retryAfter, self.wasIdle) = (cause, retryAfter, wasIdle)
    }
}
