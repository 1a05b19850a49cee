import CodecCore
import Holdfast
import MachineCore
public import WAMPCore
import WAMPSigning

/// Why a request, or the session, did not come to what was asked for.
///
/// Says what failed, in which request, and whether trying again may help.
public struct WAMPError: Error, Sendable, CustomStringConvertible, CustomReflectable {
    /// What went wrong, in one word.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private let word: String

        private init(_ word: String) { self.word = word }

        /// The router or the callee answered with an error; ``WAMPError/uri`` says which.
        public static let refused = Code("refused")
        /// The connection was lost before the answer came; ``WAMPError/wasSent`` says whether the request had left.
        public static let connectionLost = Code("connectionLost")
        /// Its time was over.
        public static let timedOut = Code("timedOut")
        /// The task, or the app, cancelled it.
        public static let cancelled = Code("cancelled")
        /// There is no session, and it was not to wait for one.
        public static let notJoined = Code("notJoined")
        /// The app has closed the client.
        public static let closed = Code("closed")
        /// The URI breaks the rules; nothing was sent.
        public static let invalidURI = Code("invalidURI")
        /// So many requests wait already.
        public static let tooManyWaiting = Code("tooManyWaiting")
        /// The router lacks what the request needs; nothing was sent.
        public static let unsupported = Code("unsupported")
        /// What was to be sent cannot be written; nothing was sent.
        public static let unencodable = Code("unencodable")
        /// What came is not of the type that was asked for.
        public static let undecodable = Code("undecodable")
        /// More came than the buffer holds: of events, if the stream was to fail then, or of parts of a result.
        public static let overrun = Code("overrun")
        /// The router ended the session, or did not let it join; ``WAMPError/uri`` says why.
        public static let dismissed = Code("dismissed")
        /// The router could not prove who it is.
        public static let imposter = Code("imposter")
        /// The socket ended, or could not connect; ``WAMPError/underlying`` says why.
        public static let connection = Code("connection")

        /// The word.
        public var description: String { word }
    }

    /// What went wrong, in one word.
    public let code: Code
    /// The URI of the error, if the peer named one.
    public let uri: String?
    /// What the peer's error carried.
    public let arguments: WAMPArguments
    /// The request it belongs to, in words: `CALL com.app.add2`; nil if it is the session's.
    public let request: String?
    /// Whether the request had been sent, where that is known: if not, it certainly had no effect.
    ///
    /// What the connection has taken counts as sent, whether or not it came to the router; so does what a router cut off by ending the
    /// session.
    public let wasSent: Bool?
    /// More, in words.
    public let detail: String?
    /// The error of the layer below, such as a `WebSocketError` or a `DecodingError`.
    public let underlying: (any Error)?
    /// Whether the same may succeed later, without anybody changing anything.
    ///
    /// What was sent may have had its effect already: see ``wasSent``.
    public let isRetryable: Bool

    init(
        _ code: Code, uri: String? = nil, arguments: WAMPArguments = .none, request: String? = nil, wasSent: Bool? = nil,
        detail: String? = nil, underlying: (any Error)? = nil, isRetryable: Bool = false
    ) {
        (self.code, self.uri, self.arguments, self.request, self.wasSent) = (code, uri, arguments, request, wasSent)
        (self.detail, self.underlying, self.isRetryable) = (detail, underlying, isRetryable)
    }

    /// What failed, where, and whether it may be retried; of what the peer's error carried only a text in the first place is shown.
    public var description: String {
        var text = request.map { "\(Self.shown($0, limit: 1024)) " } ?? "the session "
        text += words
        if let detail { text += ": \(Self.shown(detail, limit: 1024))" }
        if isRetryable { text += "; may be retried" }
        return text
    }

    /// What failed, without what the peer's error carried: a dump tells no secret either.
    public var customMirror: Mirror {
        Mirror(self, children: ["code": code, "uri": uri as Any, "description": description, "wasSent": wasSent as Any])
    }
}

extension WAMPError {
    private var words: String {
        switch code {
        case .refused: "was refused with \(uri.map { Self.shown($0) } ?? "an error")\(message)"
        case .connectionLost: "failed, for the connection was lost \(wasSent == false ? "before it was sent" : "before the answer came")"
        case .timedOut: "timed out\(wasSent == false ? " before it could be sent" : "")"
        case .cancelled: "was cancelled"
        case .notJoined: "failed, for no session has joined"
        case .closed: "ended, for the client is closed"
        case .invalidURI: "was not sent, for the URI is invalid"
        case .tooManyWaiting: "was not sent, for too many requests wait"
        case .unsupported: "was not sent, for the router cannot do it"
        case .unencodable: "was not sent, for its arguments cannot be written"
        case .undecodable: "brought what is not of the type that was asked for"
        case .overrun: "brought more than its buffer holds"
        case .dismissed: "was ended by the router with \(uri.map { Self.shown($0) } ?? "no reason")"
        case .imposter: "was ended, for the router could not prove who it is"
        case .connection: "ended with its connection"
        default: "failed (\(code))"
        }
    }

    /// What the peer says in words, if it does so where everybody does: as the first argument.
    private var message: String {
        guard let first = try? arguments.list.first?.string else { return "" }
        return " (\(Self.shown(Secrecy.hidingAnnounced(first))))"
    }

    /// A text that may be a peer's, in one line: with escapes for what is not seen where it stands, and not without end.
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

    /// The failure of a request; where that is the loss of the connection, with why it was lost.
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
            // What was sent had a session: it is the answer that is missing.
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

    /// Why the rules have ended a connection; nil: the app left.
    ///
    /// - Parameter obstacle: Why no proof could be given, if that is known in full.
    init?(_ ending: ClientEnding, _ obstacle: SigningError?, hiding secrets: SessionSecrets) {
        func dismissed(_ uri: String, _ detail: String?, _ underlying: SigningError? = nil) -> WAMPError {
            WAMPError(.dismissed, uri: uri, detail: detail, underlying: underlying, isRetryable: !ending.isFinal)
        }
        switch ending {
        case .left: return nil
        case .dismissed(let reason, let message, _): self = dismissed(reason, message.map(secrets.hiding))
        case .violation(let text): self = dismissed(WAMPURI.Error.protocolViolation, text)
        case .unproven(let text, _): self = dismissed(WAMPURI.Error.authenticationFailed, text, obstacle)
        case .imposter: self.init(.imposter)
        case .joinTimedOut: self.init(.timedOut, request: "HELLO", wasSent: true, isRetryable: true)
        }
    }

    /// Why there is no session, as the cause of another error.
    var reason: String { code == .connection ? detail ?? description : description }

    /// The end of the socket; routers say in the reason of their close frame what they took offence at.
    init(_ error: WebSocketError, hiding secrets: SessionSecrets) {
        var detail = secrets.hiding(error.words)
        if let reason = (error.closeRecord?.received?.reason).map(secrets.hiding), !reason.isEmpty, !detail.contains(reason) {
            detail += ": \(reason)"
        }
        self.init(.connection, detail: detail, underlying: error, isRetryable: error.isRetryable)
    }

    /// The same, of a request.
    func of(_ request: String?) -> WAMPError {
        WAMPError(
            code, uri: uri, arguments: arguments, request: request, wasSent: wasSent, detail: detail, underlying: underlying,
            isRetryable: isRetryable)
    }

    /// What was to be sent cannot be written.
    static func unencodable(_ error: any Error, _ request: String) -> WAMPError {
        (error as? WAMPError)?.of(request)
            ?? WAMPError(.unencodable, request: request, wasSent: false, detail: "\(error)", underlying: error)
    }

    /// What came is not of its type.
    static func undecodable(_ error: any Error, _ request: String) -> WAMPError {
        (error as? WAMPError)?.of(request)
            ?? WAMPError(.undecodable, request: request, wasSent: true, detail: "\(error)", underlying: error)
    }
}
