public import WebSocketCore

/// Decides which losses are worth another attempt.
///
/// This is the only place that separates transient from permanent failures.
///
/// | Cause | Verdict of ``standard`` |
/// |---|---|
/// | status 401 | refresh credentials |
/// | status 408, 425, 429, 500 to 599 except 501 and 505 | retry |
/// | any other status, such as 301, 403, 404, 410, 501 | final |
/// | closed by the peer with 1000 | final |
/// | 1001, 1005, 1006, 1009, 1011, 1012, 1013, 1014, 3008 | retry |
/// | 1002, 1003, 1007, 1010, 1015, 3003 | final |
/// | 1008, 3000 | refresh credentials |
/// | 4000 to 4999 (application codes) | final |
/// | any other, unassigned code | retry |
/// | closed by this side, any code | final |
/// | lost, unresponsive, stalled | retry |
/// | the peer sent a message beyond the limit | retry |
/// | timed out, name not resolved, refused or no route | retry |
/// | TLS failed, invalid handshake, protocol violation, invalid configuration | final |
/// | credentials not provided | as the provider says |
///
/// A message that is too long for either side (1009) ends only its connection. This side does not send it again, so other users of the
/// socket are not affected. If the peer sends such a message again and again, the backoff grows.
///
/// An app can change single entries:
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
        /// The failure may be temporary: try again after a wait.
        case retry
        /// Try again after a wait with new credentials. Final if there is no provider, or if the refused credentials were already new.
        case refreshCredentials
        /// Another attempt would fail in the same way.
        case final
    }

    /// The table above, unchanged.
    public static let standard = LossTable()

    /// The entries that differ from the standard.
    private var changes: [LossCause: Verdict] = [:]

    private init() {}

    /// The verdict on a cause.
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
    /// The connection closed with this code. `by` says which side sent the first close frame.
    ///
    /// `.local` means that this side closed it on purpose. If a fault caused the close, such as silence or a protocol violation, that fault
    /// is the cause instead.
    case closed(CloseCode, by: CloseRecord.Side = .remote)
    /// The link ended without a close frame (1006).
    case lost
    /// The peer did not answer a ping in time.
    case unresponsive
    /// The peer stopped reading for longer than allowed.
    case stalled
    /// A time limit ended while connecting or during the handshake.
    case timedOut
    /// The host's name could not be resolved.
    case unresolved
    /// No connection could be made: refused, no route, network down.
    case unreachable
    /// TLS failed: an unknown authority, a wrong host, an expired certificate, no common version.
    case tls
    /// The opening handshake was malformed, or the peer agreed to something that was not offered.
    case invalidHandshake
    /// The peer violated RFC 6455 after the handshake, or a limit other than the message size.
    case protocolViolation
    /// The peer sent a message or frame that is longer than this side accepts. This side closed with 1009.
    case messageTooBig
    /// The URL or the configuration is invalid or not supported.
    case invalidConfiguration
    /// The app could not provide credentials. The provider says whether a retry can help.
    case credentials(isRetryable: Bool)
}

/// A lost connection or failed attempt, with its cause.
public struct Loss: Hashable, Sendable {
    /// The cause.
    public var cause: LossCause
    /// How long the server asks the client to wait, see `HeaderFields.retryAfter`; nil if it does not say.
    public var retryAfter: Duration?
    /// Whether the link broke while a ping was unanswered: a middlebox may have dropped the idle connection.
    public var wasIdle: Bool

    /// Creates a loss with this cause.
    public init(_ cause: LossCause, retryAfter: Duration? = nil, wasIdle: Bool = false) {
        (self.cause, self.retryAfter, self.wasIdle) = (cause, retryAfter, wasIdle)
    }
}
