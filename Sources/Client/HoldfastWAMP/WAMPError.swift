import CodecCore
import Holdfast
import MachineCore
public import WAMPCore
import WAMPSigning

/// An error of a request or of the session.
///
/// It says what failed, in which request, and whether a retry may help.
public struct WAMPError: Error, Sendable, CustomStringConvertible, CustomReflectable {
    /// The kind of an error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private let word: String

        private init(_ word: String) { self.word = word }

        /// The router or the callee answered with an error; its URI is ``WAMPError/uri``.
        public static let refused = Code("refused")
        /// The connection was lost before the answer arrived; ``WAMPError/wasSent`` says whether the request had been sent.
        public static let connectionLost = Code("connectionLost")
        /// The request or the session timed out.
        public static let timedOut = Code("timedOut")
        /// The task or the app cancelled the request.
        public static let cancelled = Code("cancelled")
        /// There is no session, and the request was not allowed to wait for one.
        public static let notJoined = Code("notJoined")
        /// The app has closed the client.
        public static let closed = Code("closed")
        /// The URI is invalid; nothing was sent.
        public static let invalidURI = Code("invalidURI")
        /// Too many requests are waiting already.
        public static let tooManyWaiting = Code("tooManyWaiting")
        /// The router does not support a feature that the request needs; nothing was sent.
        public static let unsupported = Code("unsupported")
        /// The arguments cannot be encoded; nothing was sent.
        public static let unencodable = Code("unencodable")
        /// A received value is not of the expected type.
        public static let undecodable = Code("undecodable")
        /// The buffer is full: of events, if the stream was to fail in this case, or of parts of a result.
        public static let overrun = Code("overrun")
        /// The router ended the session, or refused to let it join; ``WAMPError/uri`` says why.
        public static let dismissed = Code("dismissed")
        /// The router could not prove its identity.
        public static let untrustedServer = Code("untrustedServer")
        /// The socket ended, or could not connect; ``WAMPError/underlying`` says why.
        public static let connection = Code("connection")

        /// The name of the code.
        public var description: String { word }
    }

    /// The kind of the error.
    public let code: Code
    /// The URI of the error, if the peer named one.
    public let uri: String?
    /// The arguments of the peer's error.
    public let arguments: WAMPArguments
    /// The request, such as `CALL com.app.add2`; nil for an error of the session.
    public let request: String?
    /// Whether the request was sent, if that is known; a request that was not sent had no effect.
    ///
    /// A request counts as sent when the connection has accepted it, whether or not it has reached the router. This includes requests
    /// that the router did not answer because it ended the session.
    public let wasSent: Bool?
    /// More details, as a text.
    public let detail: String?
    /// The error of the layer below, such as a `WebSocketError` or a `DecodingError`.
    public let underlying: (any Error)?
    /// Whether the same request may succeed later without a change by the app or the user.
    ///
    /// A request that was sent may already have had its effect: see ``wasSent``.
    public let isRetryable: Bool

    init(
        _ code: Code, uri: String? = nil, arguments: WAMPArguments = .none, request: String? = nil, wasSent: Bool? = nil,
        detail: String? = nil, underlying: (any Error)? = nil, isRetryable: Bool = false
    ) {
        (self.code, self.uri, self.arguments, self.request, self.wasSent) = (code, uri, arguments, request, wasSent)
        (self.detail, self.underlying, self.isRetryable) = (detail, underlying, isRetryable)
    }

    /// A text that says what failed and whether it may be retried; of the peer's arguments it shows only a text in the first place.
    public var description: String {
        var text = request.map { "\(Self.shown($0, limit: 1024)) " } ?? "the session "
        text += words
        if let detail { text += ": \(Self.shown(detail, limit: 1024))" }
        if isRetryable { text += "; may be retried" }
        return text
    }

    /// The error without the peer's arguments, so that a dump contains no secrets either.
    public var customMirror: Mirror {
        Mirror(self, children: ["code": code, "uri": uri as Any, "description": description, "wasSent": wasSent as Any])
    }
}

extension WAMPError {
    private var words: String {
        switch code {
        case .refused: "was refused with \(uri.map { Self.shown($0) } ?? "an error")\(message)"
        case .connectionLost:
            "failed because the connection was lost \(wasSent == false ? "before it was sent" : "before the answer came")"
        case .timedOut: "timed out\(wasSent == false ? " before it could be sent" : "")"
        case .cancelled: "was cancelled"
        case .notJoined: "failed because no session has joined"
        case .closed: "ended because the client is closed"
        case .invalidURI: "was not sent because the URI is invalid"
        case .tooManyWaiting: "was not sent because too many requests are waiting"
        case .unsupported: "was not sent because the router does not support it"
        case .unencodable: "was not sent because its arguments cannot be encoded"
        case .undecodable: "carried a value of an unexpected type"
        case .overrun: "received more than its buffer holds"
        case .dismissed: "was ended by the router with \(uri.map { Self.shown($0) } ?? "no reason")"
        case .untrustedServer: "was ended because the router could not prove its identity"
        case .connection: "ended with its connection"
        default: "failed (\(code))"
        }
    }

    /// The peer's message, if it is in the usual place: the first argument.
    private var message: String {
        guard let first = try? arguments.list.first?.string else { return "" }
        return " (\(Self.shown(Secrecy.hidingAnnounced(first))))"
    }

    /// Formats a text that may come from a peer on one line: invisible characters are escaped, and the length is limited.
    private static func shown(_ text: String, limit: Int = 256) -> String {
        var shown = ""
        for (place, scalar) in text.unicodeScalars.enumerated() {
            guard place < limit else { return shown + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                shown += scalar.escaped(asASCII: true)
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// Converts the failure of a request; for a lost connection, `cause` says why it was lost.
    init(_ failure: ClientFailure, of request: String?, because cause: WAMPError? = nil) {
        func error(
            _ code: Code, uri: String? = nil, _ arguments: WAMPArguments = .none, wasSent: Bool? = false, detail: String? = nil,
            underlying: (any Error)? = nil
        ) -> WAMPError {
            WAMPError(
                code, uri: uri, arguments: arguments, request: request, wasSent: wasSent, detail: detail, underlying: underlying,
                isRetryable: failure.isRetryable)
        }
        let root = cause?.underlying ?? cause
        self =
            switch failure {
            case .refused(let uri, let arguments): error(.refused, uri: uri, arguments, wasSent: true)
            case .connectionLost(let wasSent):
                error(.connectionLost, wasSent: wasSent, detail: cause?.detail, underlying: cause?.underlying)
            // A request that was sent had a session, so only the answer is missing.
            case .timedOut(wasSent: true): error(.timedOut, uri: WAMPURI.Error.timeout, wasSent: true)
            case .timedOut: error(.timedOut, uri: WAMPURI.Error.timeout, detail: cause?.reason, underlying: root)
            case .cancelled(let wasSent): error(.cancelled, uri: WAMPURI.Error.canceled, wasSent: wasSent)
            case .notJoined: error(.notJoined, detail: cause?.reason, underlying: root)
            case .ended: error(.closed, wasSent: nil)
            case .invalidURI(let uri):
                error(.invalidURI, uri: WAMPURI.Error.invalidURI, detail: String(uri.prefix(128)).debugDescription)
            case .tooManyWaiting: error(.tooManyWaiting)
            case .unsupported(let feature): error(.unsupported, detail: feature)
            }
    }

    /// Converts the reason why the machine has ended a connection; returns nil if the app left.
    ///
    /// - Parameter obstacle: The error that prevented the authentication, if it is known.
    init?(_ ending: ClientEnding, _ obstacle: SigningError?, hiding secrets: SessionSecrets) {
        func dismissed(_ uri: String, _ detail: String?, _ underlying: SigningError? = nil) -> WAMPError {
            WAMPError(.dismissed, uri: uri, detail: detail, underlying: underlying, isRetryable: !ending.isFinal)
        }
        switch ending {
        case .left: return nil
        case .dismissed(let reason, let message, _): self = dismissed(reason, message.map(secrets.hiding))
        case .violation(let text): self = dismissed(WAMPURI.Error.protocolViolation, text)
        case .unproven(let text, _): self = dismissed(WAMPURI.Error.authenticationFailed, text, obstacle)
        case .untrustedServer: self.init(.untrustedServer)
        case .joinTimedOut: self.init(.timedOut, request: "HELLO", wasSent: true, isRetryable: true)
        }
    }

    /// The reason why there is no session, as the cause of another error.
    var reason: String { code == .connection ? detail ?? description : description }

    /// Converts the end of the socket; routers put their complaint into the reason of the close frame.
    init(_ error: WebSocketError, hiding secrets: SessionSecrets) {
        var detail = secrets.hiding(error.words)
        if let reason = (error.closeRecord?.received?.reason).map(secrets.hiding), !reason.isEmpty, !detail.contains(reason) {
            detail += ": \(reason)"
        }
        self.init(.connection, detail: detail, underlying: error, isRetryable: error.isRetryable)
    }

    /// Returns the same error for a request.
    func of(_ request: String?) -> WAMPError {
        WAMPError(
            code, uri: uri, arguments: arguments, request: request, wasSent: wasSent, detail: detail, underlying: underlying,
            isRetryable: isRetryable)
    }

    /// Creates the error for arguments that cannot be encoded.
    static func unencodable(_ error: any Error, _ request: String) -> WAMPError {
        (error as? WAMPError)?.of(request)
            ?? WAMPError(.unencodable, request: request, wasSent: false, detail: "\(error)", underlying: error)
    }

    /// Creates the error for a value that cannot be decoded.
    static func undecodable(_ error: any Error, _ request: String) -> WAMPError {
        (error as? WAMPError)?.of(request)
            ?? WAMPError(.undecodable, request: request, wasSent: true, detail: "\(error)", underlying: error)
    }
}
