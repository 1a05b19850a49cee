import Holdfast
import WAMPCore

extension WAMPError {
    /// The errors that may pass by themselves.
    private static let passing: Set<String> = [
        WAMPURI.Error.networkFailure, WAMPURI.Error.unavailable, WAMPURI.Error.noAvailableCallee, WAMPURI.Error.timeout,
        WAMPURI.Error.noSuchProcedure, WAMPURI.Error.authorizationFailed, WAMPURI.Close.systemShutdown,
    ]

    /// The failure of a request; where that is the loss of the connection, with why it was lost.
    init(_ failure: ClientFailure, of request: String?, because cause: WAMPError? = nil) {
        switch failure {
        case .refused(let uri, let arguments):
            self.init(.refused, uri: uri, arguments: arguments, request: request, wasSent: true, isRetryable: Self.passing.contains(uri))
        case .connectionLost(let wasSent):
            self.init(
                .connectionLost, request: request, wasSent: wasSent, detail: cause?.detail, underlying: cause?.underlying,
                isRetryable: true)
        case .timedOut(let wasSent):
            // What was sent had a session: it is the answer that is missing.
            let cause = wasSent ? nil : cause
            self.init(
                .timedOut, uri: WAMPURI.Error.timeout, request: request, wasSent: wasSent, detail: cause?.reason,
                underlying: cause?.underlying ?? cause, isRetryable: true)
        case .cancelled(let wasSent): self.init(.cancelled, uri: WAMPURI.Error.canceled, request: request, wasSent: wasSent)
        case .notJoined:
            self.init(
                .notJoined, request: request, wasSent: false, detail: cause?.reason, underlying: cause?.underlying ?? cause,
                isRetryable: true)
        case .ended: self.init(.closed, request: request)
        case .invalidURI(let uri):
            self.init(
                .invalidURI, uri: WAMPURI.Error.invalidURI, request: request, wasSent: false,
                detail: String(uri.prefix(128)).debugDescription)
        case .tooManyWaiting: self.init(.tooManyWaiting, request: request, wasSent: false, isRetryable: true)
        case .unsupported(let feature): self.init(.unsupported, request: request, wasSent: false, detail: feature)
        }
    }

    /// Why the rules have ended a connection; nil: the app left.
    init?(_ ending: ClientEnding, hiding secrets: SessionSecrets) {
        switch ending {
        case .left: return nil
        case .dismissed(let reason, let message, let isRetryable):
            self.init(.dismissed, uri: reason, detail: message.map(secrets.hiding), isRetryable: isRetryable)
        case .violation(let text): self.init(.dismissed, uri: WAMPURI.Error.protocolViolation, detail: text, isRetryable: true)
        case .unproven(let text, let isRetryable): self = .unproven(text, isRetryable: isRetryable)
        case .imposter: self.init(.imposter)
        case .joinTimedOut: self.init(.timedOut, request: "HELLO", wasSent: true, isRetryable: true)
        }
    }

    /// Why there is no session, as the cause of another error.
    var reason: String { code == .connection ? detail ?? description : description }

    /// The app could not prove who it is.
    static func unproven(_ detail: String, underlying: (any Error)? = nil, isRetryable: Bool) -> WAMPError {
        WAMPError(
            .dismissed, uri: WAMPURI.Error.authenticationFailed, detail: detail, underlying: underlying, isRetryable: isRetryable)
    }

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
