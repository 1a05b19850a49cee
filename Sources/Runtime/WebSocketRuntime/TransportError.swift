public import WebSocketCore

/// An error that a transport could not be opened, or stopped carrying messages.
public struct TransportError: Error, Sendable, CustomStringConvertible, CustomReflectable {
    /// The kind of an error; new codes may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name, as it appears in descriptions.
        public let description: String

        /// The host's name could not be resolved.
        public static let unresolved = Code(description: "unresolved")
        /// No connection could be established: refused, no route, network down.
        public static let unreachable = Code(description: "unreachable")
        /// The proxy did not open a tunnel; `underlying` is the ``ProxyFailure``, `response` the answer of an HTTP proxy.
        public static let proxyFailed = Code(description: "proxyFailed")
        /// A deadline passed while connecting or during the handshake.
        public static let timedOut = Code(description: "timedOut")
        /// TLS failed: an unknown authority, a wrong host, an expired certificate, no common version.
        public static let tls = Code(description: "tls")
        /// The server answered the upgrade with another status than 101.
        public static let refused = Code(description: "refused")
        /// The opening handshake was malformed, or the peer agreed to something that was not offered.
        public static let invalidHandshake = Code(description: "invalidHandshake")
        /// The server picked none of the subprotocols offered, and the client requires one.
        public static let noSubprotocol = Code(description: "noSubprotocol")
        /// The peer violated RFC 6455, or exceeded a limit, after the handshake.
        public static let protocolViolation = Code(description: "protocolViolation")
        /// The peer closed with a code that is not a normal end, or the connection is closed already.
        public static let closed = Code(description: "closed")
        /// The link ended without a close handshake.
        public static let lost = Code(description: "lost")
        /// The peer did not answer a ping in time.
        public static let unresponsive = Code(description: "unresponsive")
        /// The peer stopped reading for longer than allowed.
        public static let stalled = Code(description: "stalled")
        /// The app's provider returned no credential.
        public static let noCredential = Code(description: "noCredential")
        /// There was no connection, and the policy says not to wait for one.
        public static let disconnected = Code(description: "disconnected")
        /// The send queue is full.
        public static let queueFull = Code(description: "queueFull")
        /// The message waited to be sent, and was dropped in favour of another one.
        public static let dropped = Code(description: "dropped")
        /// The message is larger than the whole send queue.
        public static let tooLarge = Code(description: "tooLarge")
        /// The waiting task was cancelled; the connection stays open.
        public static let cancelled = Code(description: "cancelled")
        /// Too many requests are waiting for their answers.
        public static let busy = Code(description: "busy")
        /// A value could not be encoded, or an answer could not be decoded.
        public static let codec = Code(description: "codec")
        /// The URL is not a WebSocket URL.
        public static let invalidURL = Code(description: "invalidURL")
        /// The configuration cannot be honoured.
        public static let invalidConfiguration = Code(description: "invalidConfiguration")
    }

    /// The kind of the error.
    public var code: Code { storage.code }
    /// A text that says what failed and where; never contains a secret.
    public var detail: String { storage.detail }
    /// The server's answer, if it refused the upgrade.
    public var response: ResponseHead? {
        get { storage.response }
        set { change { $0.response = newValue } }
    }
    /// The first bytes of the body of a refusal.
    public var body: [UInt8] {
        get { storage.body }
        set { change { $0.body = newValue } }
    }
    /// Which side closed, and with which codes, if the connection was open.
    public var record: CloseRecord? {
        get { storage.record }
        set { change { $0.record = newValue } }
    }
    /// Whether the link broke while a ping met only silence; perhaps a device on the path had dropped the idle connection.
    public var wasIdle: Bool {
        get { storage.wasIdle }
        set { change { $0.wasIdle = newValue } }
    }
    /// The error of the layer below.
    public var underlying: (any Error)? {
        get { storage.underlying }
        set { change { $0.underlying = newValue } }
    }

    /// Stored by reference, because most connections meet no error, and each has room for several.
    private var storage: Storage

    /// Creates an error.
    public init(_ code: Code, _ detail: String, underlying: (any Error)? = nil) {
        storage = Storage(code, detail, underlying)
    }

    /// The code and the detail; contains no secrets.
    public var description: String { "\(code): \(detail)" }

    /// The error without possible secrets: of the body only its length, of the underlying error only its type.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "code": code, "detail": detail, "response": response as Any, "body": "\(body.count) bytes", "record": record as Any,
                "wasIdle": wasIdle, "underlying": underlying.map { "\(type(of: $0))" } as Any,
            ])
    }

    private mutating func change(_ body: (Storage) -> Void) {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage) }
        body(storage)
    }

    /// SAFETY: changed only by an error that is its only owner.
    private final class Storage: @unchecked Sendable {
        let code: Code
        let detail: String
        var response: ResponseHead?
        var body: [UInt8] = []
        var record: CloseRecord?
        var wasIdle = false
        var underlying: (any Error)?

        init(_ code: Code, _ detail: String, _ underlying: (any Error)?) {
            (self.code, self.detail, self.underlying) = (code, detail, underlying)
        }

        convenience init(_ other: Storage) {
            self.init(other.code, other.detail, other.underlying)
            (response, body, record, wasIdle) = (other.response, other.body, other.record, other.wasIdle)
        }
    }

    /// The error for operations on a connection that was closed regularly.
    package static let closing = TransportError(.closed, "the connection was closed")

    /// The error for a link that ended without a known reason.
    package static let hungUp = TransportError(.lost, "the link ended without a close handshake")

    /// Converts a protocol violation of the peer.
    package init(_ violation: ProtocolViolation) {
        let words = violation.kind == .messageTooBig ? "the peer sent too much at once" : "the peer violated the protocol"
        self.init(.protocolViolation, "\(words): \(violation)", underlying: violation)
    }

    /// Converts the end of a connection; nil if it closed regularly.
    package init?(ending record: CloseRecord) {
        guard record.isClean else {
            self = .hungUp
            return
        }
        let isPeaceful = record.closedFirst == .local || [.normal, .goingAway, .noStatus].contains(record.code)
        if isPeaceful { return nil }
        // The reason itself is left out, because a peer may repeat a secret in it.
        let reason = record.received?.reason.isEmpty ?? true ? "" : ", and gave a reason"
        self.init(.closed, "the peer closed with \(record.code)\(reason)")
    }

    /// Returns the same error without secrets that a peer has repeated, in its detail and in the underlying error.
    package func hiding(_ secrets: KnownSecrets) -> TransportError {
        let below: (any Error)? =
            switch underlying {
            case let failure as HandshakeFailure: failure.hiding(secrets)
            case let failure as ProxyFailure: failure.hiding(secrets)
            case let problem as RedirectProblem: problem.hiding(secrets)
            case let problem as URLProblem: problem.hiding(secrets)
            default: underlying
            }
        var error = TransportError(code, secrets.hiding(detail), underlying: below)
        (error.response, error.body, error.record, error.wasIdle) = (response, body, record, wasIdle)
        return error
    }
}
