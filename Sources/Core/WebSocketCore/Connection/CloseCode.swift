/// A close status code (RFC 6455 §7.4 and the IANA WebSocket Close Code registry).
///
/// 3000–3999 belong to registered libraries and frameworks, 4000–4999 to applications.
public struct CloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number that travels in the close frame.
    public let rawValue: UInt16

    /// The code with this number, whether or not it may be sent.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: the purpose of the connection has been fulfilled.
    public static let normal = CloseCode(rawValue: 1000)
    /// 1001: the server goes down, or the user has left the page.
    public static let goingAway = CloseCode(rawValue: 1001)
    /// 1002: the other side broke the protocol.
    public static let protocolError = CloseCode(rawValue: 1002)
    /// 1003: a kind of data came that this side cannot accept.
    public static let unsupportedData = CloseCode(rawValue: 1003)
    /// 1005: the close frame had no code; never sent (RFC 6455 §7.4.1).
    public static let noStatus = CloseCode(rawValue: 1005)
    /// 1006: the connection was lost without a close frame; never sent (RFC 6455 §7.4.1).
    public static let abnormal = CloseCode(rawValue: 1006)
    /// 1007: a message does not fit its kind, such as text that is not UTF-8.
    public static let invalidPayload = CloseCode(rawValue: 1007)
    /// 1008: a message breaks this side's policy.
    public static let policyViolation = CloseCode(rawValue: 1008)
    /// 1009: a message is too big to process.
    public static let messageTooBig = CloseCode(rawValue: 1009)
    /// 1010: the client needs an extension that the server did not accept; only clients send it.
    public static let mandatoryExtension = CloseCode(rawValue: 1010)
    /// 1011: an unexpected condition kept this side from going on.
    public static let internalError = CloseCode(rawValue: 1011)
    /// 1012: the service restarts; only servers send it.
    public static let serviceRestart = CloseCode(rawValue: 1012)
    /// 1013: the service is overloaded; only servers send it.
    public static let tryAgainLater = CloseCode(rawValue: 1013)
    /// 1014: a gateway got an invalid answer from the server behind it; only servers send it.
    public static let badGateway = CloseCode(rawValue: 1014)
    /// 1015: the TLS handshake failed; never sent (RFC 6455 §7.4.1).
    public static let tlsHandshake = CloseCode(rawValue: 1015)

    /// The number and name, such as `1000 (normal closure)`.
    public var description: String { "\(rawValue) (\(name))" }
}

extension CloseCode {
    /// Whether a close frame from the peer may carry this code (RFC 6455 §7.4).
    public var mayBeReceived: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false  // 1004–1006 and 1015 never travel; the rest is unassigned.
        }
    }

    /// Whether this side may put the code in a close frame.
    ///
    /// 1010 is the client's alone (RFC 6455 §7.4.1); 1012 to 1014 speak of a service, so they are the server's.
    public func maySend(as role: Role) -> Bool {
        switch self {
        case .mandatoryExtension: role == .client
        case .serviceRestart, .tryAgainLater, .badGateway: role == .server
        default: mayBeReceived
        }
    }
}
