import Holdfast
import WAMPCore
import WAMPSigning

extension WAMPError {
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
