/// A close status code (RFC 6455 §7.4 and the IANA WebSocket Close Code registry).
///
/// 3000–3999 are for registered libraries and frameworks, 4000–4999 for applications.
public struct CloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number in the close frame.
    public let rawValue: UInt16

    /// Creates the code with this number, whether or not it may be sent.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: the purpose of the connection has been fulfilled.
    public static let normal = CloseCode(rawValue: 1000)
    /// 1001: the server is shutting down, or the user has left the page.
    public static let goingAway = CloseCode(rawValue: 1001)
    /// 1002: the other side violated the protocol.
    public static let protocolError = CloseCode(rawValue: 1002)
    /// 1003: this side received a type of data that it cannot accept.
    public static let unsupportedData = CloseCode(rawValue: 1003)
    /// 1005: the close frame had no code; never sent (RFC 6455 §7.4.1).
    public static let noStatus = CloseCode(rawValue: 1005)
    /// 1006: the connection was lost without a close frame; never sent (RFC 6455 §7.4.1).
    public static let abnormal = CloseCode(rawValue: 1006)
    /// 1007: a message has an invalid payload for its type, such as text that is not UTF-8.
    public static let invalidPayload = CloseCode(rawValue: 1007)
    /// 1008: a message violates this side's policy.
    public static let policyViolation = CloseCode(rawValue: 1008)
    /// 1009: a message is too big to process.
    public static let messageTooBig = CloseCode(rawValue: 1009)
    /// 1010: the client requires an extension that the server did not accept; sent only by clients.
    public static let mandatoryExtension = CloseCode(rawValue: 1010)
    /// 1011: an unexpected error prevents this side from continuing.
    public static let internalError = CloseCode(rawValue: 1011)
    /// 1012: the service restarts; sent only by servers.
    public static let serviceRestart = CloseCode(rawValue: 1012)
    /// 1013: the service is overloaded; sent only by servers.
    public static let tryAgainLater = CloseCode(rawValue: 1013)
    /// 1014: a gateway received an invalid response from the server behind it; sent only by servers.
    public static let badGateway = CloseCode(rawValue: 1014)
    /// 1015: the TLS handshake failed; never sent (RFC 6455 §7.4.1).
    public static let tlsHandshake = CloseCode(rawValue: 1015)

    /// The number and name, such as `1000 (normal closure)`.
    public var description: String { "\(rawValue) (\(name))" }

    /// Whether a close frame from the peer may carry this code (RFC 6455 §7.4).
    public var mayBeReceived: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false  // 1004–1006 and 1015 are never sent; the others are unassigned.
        }
    }

    /// Returns whether this side may send the code in a close frame.
    ///
    /// Only clients send 1010 (RFC 6455 §7.4.1). Only servers send 1012 to 1014, because these describe a service.
    public func maySend(as role: Role) -> Bool {
        switch self {
        case .mandatoryExtension: role == .client
        case .serviceRestart, .tryAgainLater, .badGateway: role == .server
        default: mayBeReceived
        }
    }

    /// The name, in lower case, such as `normal closure`.
    public var name: String { words.name }

    /// The meaning of the code, in one sentence.
    public var meaning: String { words.meaning }

    private var words: (name: String, meaning: String) {
        switch rawValue {
        case 1000: ("normal closure", "The purpose of the connection has been fulfilled.")
        case 1001: ("going away", "The server is shutting down, or the user has left the page.")
        case 1002: ("protocol error", "The other side violated the WebSocket protocol.")
        case 1003: ("unsupported data", "The side that closed received a type of data it cannot accept, such as binary instead of text.")
        case 1004: ("reserved", "The code is reserved and must not be sent.")
        case 1005: ("no status", "The close frame had no code; this one is never sent.")
        case 1006: ("abnormal closure", "The connection was lost without a close frame; this code is never sent.")
        case 1007: ("invalid payload", "A message has an invalid payload for its type, such as text that is not UTF-8.")
        case 1008: ("policy violation", "A message violates the policy of the side that closed the connection.")
        case 1009: ("message too big", "A message is too big to process.")
        case 1010: ("mandatory extension", "The client requires an extension that the server did not accept.")
        case 1011: ("internal error", "An unexpected error prevented the side that closed the connection from continuing.")
        case 1012: ("service restart", "The service restarts; reconnect after a random delay.")
        case 1013: ("try again later", "The service is overloaded; reconnect later.")
        case 1014: ("bad gateway", "A gateway received an invalid response from the server behind it.")
        case 1015: ("TLS handshake failure", "The TLS handshake failed; this code is never sent.")
        case 3000: ("unauthorized", "The endpoint requires authorization that the request did not contain.")
        case 3003: ("forbidden", "The endpoint refuses this user.")
        case 3008: ("timeout", "The endpoint waited too long for the other side.")
        case 3000...3999: ("registered code", "The code belongs to a registered library or framework.")
        case 4000...4999: ("application code", "The code belongs to the application.")
        case 0..<1000: ("invalid code", "Codes below 1000 are not used.")
        case 1016...2999: ("unassigned", "The code is kept for future versions of the protocol and must not be sent.")
        default: ("invalid code", "Codes above 4999 are not used.")
        }
    }
}

/// The content of a close frame: a code and a reason, or nothing (RFC 6455 §5.5.1).
public struct CloseFrame: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The maximum length of a reason in UTF-8 bytes: 125 minus the two bytes of the code.
    public static let maximumReasonLength = 123

    /// The status code; nil when the frame is empty.
    public let code: CloseCode?
    /// The reason, at most ``maximumReasonLength`` bytes of UTF-8; empty when there is no code.
    public let reason: String

    /// Creates a close frame with a code and a reason.
    ///
    /// A longer reason is truncated at the last character boundary that fits. Without a code, the reason is dropped.
    public init(_ code: CloseCode? = nil, reason: String = "") {
        self.code = code
        self.reason = code == nil ? "" : reason.prefix(utf8Count: Self.maximumReasonLength)
    }

    /// The code, and whether there is a reason.
    ///
    /// The reason itself is omitted because it may repeat a secret.
    public var description: String {
        guard let code else { return "no code" }
        return reason.isEmpty ? "\(code)" : "\(code), with a reason"
    }

    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["close": description]) }

    /// Reads the unmasked payload of a close frame.
    ///
    /// Throws `invalidCloseFrame` for a single byte or a code that must not be sent, and `invalidUTF8` for a reason that is not UTF-8.
    public init(payload: UnsafeRawBufferPointer) throws(ProtocolViolation) {
        guard unsafe !payload.isEmpty else {
            self.init()
            return
        }
        guard payload.count >= 2 else { throw ProtocolViolation(.invalidCloseFrame, "its payload is a single byte") }
        let code = CloseCode(rawValue: UInt16(bigEndian: unsafe payload.loadUnaligned(as: UInt16.self)))
        // RFC 6455 §7.4.2: other codes are reserved, or for use inside an endpoint only.
        guard code.mayBeReceived else { throw ProtocolViolation(.invalidCloseFrame, "the code \(code) must not be sent") }
        let reason = unsafe UnsafeRawBufferPointer(rebasing: payload.dropFirst(2))
        var validator = UTF8Validator()
        guard unsafe validator.validate(reason), validator.isComplete else {
            throw ProtocolViolation(.invalidUTF8, "the reason of a close frame (RFC 6455 §8.1)")
        }
        self.init(code, reason: unsafe String(validated: reason, isASCII: validator.isASCII))
    }

    /// The payload of the frame; empty if there is no code, or one that must not be sent (RFC 6455 §7.4.1).
    public var payload: [UInt8] {
        guard let code, code.mayBeReceived else { return [] }
        return [UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)] + reason.utf8
    }
}

extension String {
    /// Returns the longest prefix of whole characters with at most `limit` bytes of UTF-8.
    fileprivate func prefix(utf8Count limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var (end, length) = (startIndex, 0)
        while end < endIndex {
            length += self[end].utf8.count
            guard length <= limit else { break }
            formIndex(after: &end)
        }
        return String(self[..<end])
    }
}

/// How a connection ended: the close frames of both sides, and which one was first.
public struct CloseRecord: Hashable, Sendable {
    /// One of the two ends of a connection.
    public enum Side: Hashable, Sendable {
        /// This end.
        case local
        /// The peer.
        case remote
    }

    /// The close frame this side sent, if any.
    public var sent: CloseFrame?
    /// The close frame the peer sent, if any.
    public var received: CloseFrame?
    /// The side that sent the first close frame; nil if the connection was lost without one.
    public var closedFirst: Side?
    /// Whether both close frames were exchanged before TCP ended (RFC 6455 §7.1.4).
    public var isClean: Bool

    /// Creates a record; by default that of a connection lost without a close frame.
    public init(sent: CloseFrame? = nil, received: CloseFrame? = nil, closedFirst: Side? = nil, isClean: Bool = false) {
        (self.sent, self.received, self.closedFirst, self.isClean) = (sent, received, closedFirst, isClean)
    }

    /// The close code of the connection as RFC 6455 §7.1.5 defines it: 1005 for an empty close frame, 1006 for none.
    public var code: CloseCode {
        guard let received else { return .abnormal }
        return received.code ?? .noStatus
    }
}
