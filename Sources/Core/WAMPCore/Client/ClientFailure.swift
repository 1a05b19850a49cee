package import ProtocolCore
import WebSocketCore

/// Why a request of the app failed.
public enum ClientFailure: Error, Hashable, Sendable {
    /// The router or the callee answered with an error.
    case refused(uri: String, arguments: WAMPArguments)
    /// The connection was lost; `wasSent`: the request may have been sent before.
    case connectionLost(wasSent: Bool)
    /// The time limit was exceeded; `wasSent`: the request had been sent before.
    case timedOut(wasSent: Bool)
    /// The app cancelled the request; `wasSent`: the request had been sent before.
    case cancelled(wasSent: Bool)
    /// There is no session, and the request was not to wait for one.
    case notJoined
    /// The session has ended for good.
    case ended
    /// The URI is invalid; nothing was sent.
    case invalidURI(String)
    /// Too many requests wait already; see ``ClientPolicy/maximumWaiting``.
    case tooManyWaiting
    /// The router lacks a feature that the request needs; nothing was sent.
    case unsupported(String)
}

/// Why a client ends a connection.
package enum ClientEnding: Hashable, Sendable {
    /// The app left.
    case left
    /// The router said goodbye or aborted the session: the reason URI, the message, and whether a new connection may help.
    case dismissed(reason: String, message: String?, isRetryable: Bool)
    /// The router violated the protocol, in this way. A new connection may help.
    case violation(String)
    /// The app could not authenticate: the reason, and whether a new connection may help.
    case unproven(String, isRetryable: Bool = true)
    /// The router failed to prove its identity. A new connection does not help.
    case untrustedServer
    /// The router did not complete the join in time. A new connection may help.
    case joinTimedOut
}

extension ClientEnding {
    /// Whether a new connection cannot help; then all waiting requests fail with ``ClientFailure/ended``.
    package var isFinal: Bool {
        switch self {
        case .left, .untrustedServer: true
        case .dismissed(_, _, let isRetryable), .unproven(_, let isRetryable): !isRetryable
        case .violation, .joinTimedOut: false
        }
    }

    /// How the connection ends.
    package var connectionEnd: ConnectionEnd {
        switch self {
        case _ where isFinal: .stop
        case .left, .untrustedServer: .stop
        case .violation: .reject(.protocolError, reason: "the router broke the protocol")
        case .unproven: .reconnect(after: .zero, .normal, reason: "the client could not authenticate")
        case .joinTimedOut: .reconnect(after: .zero, .normal, reason: "joining took too long")
        // If two clients kill each other's sessions, the backoff slows them down.
        case .dismissed(WAMPURI.Close.killed, _, _): .reject(.normal, reason: "the session was killed")
        case .dismissed: .reconnect(after: .zero, .normal, reason: "the session has ended")
        }
    }
}

extension WAMPURI {
    /// Returns whether a new join may help after the router ended the session for this reason.
    ///
    /// Where one router sends `no_matching_auth_method`, others send `no_auth_method`, `not_authorized` or `authentication_failed`.
    static func isWorthAnotherTry(afterEndingFor reason: String) -> Bool { !hopeless.contains(reason) }

    private static let hopeless: Set<String> = [
        Error.noSuchRealm, Error.noSuchRole, Error.noSuchPrincipal, Error.notAuthorized, Error.authenticationFailed,
        Error.authenticationDenied, "wamp.error.authentication_required", "wamp.error.authorization_denied",
        "wamp.error.authorization_required", Error.noMatchingAuthMethod, "wamp.error.no_auth_method", Error.invalidURI,
        Error.featureNotSupported,
    ]

    /// Returns whether the same request may succeed a little later.
    static func isPassing(_ uri: String) -> Bool { passing.contains(uri) }

    private static let passing: Set<String> = [
        Error.unavailable, Error.timeout, Error.networkFailure, Error.authorizationFailed, Error.noAvailableCallee, Error.canceled,
    ]
}

extension ClientFailure {
    /// Whether the same request may succeed later without any change.
    package var isRetryable: Bool {
        switch self {
        // A callee may be about to register the procedure. A cancelled call must not be repeated.
        case .refused(WAMPURI.Error.noSuchProcedure, _), .refused(WAMPURI.Close.systemShutdown, _): true
        case .refused(let uri, _): WAMPURI.isPassing(uri) && uri != WAMPURI.Error.canceled
        case .connectionLost, .timedOut, .notJoined, .tooManyWaiting: true
        case .cancelled, .ended, .invalidURI, .unsupported: false
        }
    }
}
