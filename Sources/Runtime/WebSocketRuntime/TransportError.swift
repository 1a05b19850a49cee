public import WebSocketCore

/// Why a transport could not be opened, or stopped carrying messages.
public struct TransportError: Error, Sendable {
    /// What went wrong, in one word; new codes may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, as it appears in descriptions.
        public let description: String

        /// The host's name could not be resolved.
        public static let unresolved = Code(description: "unresolved")
        /// No connection could be made: refused, no route, network down.
        public static let unreachable = Code(description: "unreachable")
        /// A deadline passed while connecting or shaking hands.
        public static let timedOut = Code(description: "timedOut")
        /// TLS failed: an unknown authority, a wrong host, an expired certificate, no common version.
        public static let tls = Code(description: "tls")
        /// The server answered the upgrade with another status than 101.
        public static let refused = Code(description: "refused")
        /// The opening handshake was malformed, or the peer agreed to something that was not offered.
        public static let invalidHandshake = Code(description: "invalidHandshake")
        /// The peer broke RFC 6455 or a limit after the handshake.
        public static let protocolViolation = Code(description: "protocolViolation")
        /// The peer closed with a code that is not a normal end, or the connection is closed already.
        public static let closed = Code(description: "closed")
        /// The link ended without a close handshake.
        public static let lost = Code(description: "lost")
        /// The peer did not answer a ping in time.
        public static let unresponsive = Code(description: "unresponsive")
        /// The peer stopped reading for longer than allowed.
        public static let stalled = Code(description: "stalled")
        /// The waiting task was cancelled; the connection lives on.
        public static let cancelled = Code(description: "cancelled")
        /// The URL is not that of a WebSocket.
        public static let invalidURL = Code(description: "invalidURL")
        /// The configuration cannot be honoured.
        public static let invalidConfiguration = Code(description: "invalidConfiguration")
    }

    /// What went wrong.
    public let code: Code
    /// What failed and where, for people; never holds a secret.
    public let detail: String
    /// The server's answer, if it refused the upgrade.
    public var response: ResponseHead?
    /// The first bytes of the body that came with a refusal.
    public var body: [UInt8] = []
    /// Who closed and with which codes, if the connection was open.
    public var record: CloseRecord?
    /// The error of the layer below.
    public var underlying: (any Error)?

    /// Makes an error.
    public init(_ code: Code, _ detail: String, underlying: (any Error)? = nil) {
        (self.code, self.detail, self.underlying) = (code, detail, underlying)
    }
}
