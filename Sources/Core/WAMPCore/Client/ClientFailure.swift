package import ProtocolCore
import WebSocketCore

/// Why a request of the app's ended without what it asked for.
public enum ClientFailure: Error, Hashable, Sendable {
    /// The router or the callee answered with an error.
    case refused(uri: String, arguments: WAMPArguments)
    /// The connection was lost; whether the request may have been sent by then.
    case connectionLost(wasSent: Bool)
    /// Its time was over; whether it had been sent by then.
    case timedOut(wasSent: Bool)
    /// The app cancelled it; whether it had been sent by then.
    case cancelled(wasSent: Bool)
    /// There is no session, and it was not to wait for one.
    case notJoined
    /// The session has ended for good.
    case ended
    /// The URI breaks the rules; nothing was sent.
    case invalidURI(String)
    /// So many requests wait already; see ``ClientPolicy/maximumWaiting``.
    case tooManyWaiting
    /// The router lacks a feature that the request needs; nothing was sent.
    case unsupported(String)
}

/// Why a client ends a connection.
package enum ClientEnding: Hashable, Sendable {
    /// The app left.
    case left
    /// The router said goodbye, or cut the session off: the reason as a URI, what it said, and whether another try makes sense.
    case dismissed(reason: String, message: String?, isRetryable: Bool)
    /// The router broke the protocol: how. Another try makes sense.
    case violation(String)
    /// The app could not prove who it is: why, and whether another try makes sense.
    case unproven(String, isRetryable: Bool = true)
    /// The router is not who it should be. Another try makes none.
    case imposter
    /// The router did not let the client join in time. Another try makes sense.
    case joinTimedOut
}

extension ClientEnding {
    /// Whether another connection cannot help: then everything that waits ends with ``ClientFailure/ended``.
    package var isFinal: Bool {
        switch self {
        case .left, .imposter: true
        case .dismissed(_, _, let isRetryable), .unproven(_, let isRetryable): !isRetryable
        case .violation, .joinTimedOut: false
        }
    }

    /// How the connection ends.
    package var connectionEnd: ConnectionEnd {
        switch self {
        case _ where isFinal: .stop
        case .left, .imposter: .stop
        case .violation: .reject(.protocolError, reason: "the router broke the protocol")
        case .unproven: .reconnect(after: .zero, .normal, reason: "there is no proof")
        case .joinTimedOut: .reconnect(after: .zero, .normal, reason: "joining took too long")
        // Two clients that end each other's sessions do so more and more slowly.
        case .dismissed(WAMPURI.Close.killed, _, _): .reject(.normal, reason: "the session was killed")
        case .dismissed: .reconnect(after: .zero, .normal, reason: "the session has ended")
        }
    }
}

extension WAMPURI {
    /// Whether joining again can help after the router ended the session for this reason.
    ///
    /// What one router calls `no_matching_auth_method`, others call `no_auth_method`, `not_authorized` or `authentication_failed`.
    static func isWorthAnotherTry(afterEndingFor reason: String) -> Bool { !hopeless.contains(reason) }

    private static let hopeless: Set<String> = [
        Error.noSuchRealm, Error.noSuchRole, Error.noSuchPrincipal, Error.notAuthorized, Error.authenticationFailed,
        Error.authenticationDenied, "wamp.error.authentication_required", "wamp.error.authorization_denied",
        "wamp.error.authorization_required", Error.noMatchingAuthMethod, "wamp.error.no_auth_method", Error.invalidURI,
        Error.featureNotSupported,
    ]

    /// Whether the same request may succeed a little later.
    static func isPassing(_ uri: String) -> Bool { passing.contains(uri) }

    private static let passing: Set<String> = [
        Error.unavailable, Error.timeout, Error.networkFailure, Error.authorizationFailed, Error.noAvailableCallee, Error.canceled,
    ]
}

extension ClientFailure {
    /// Whether the same request may succeed later, without anybody changing anything.
    package var isRetryable: Bool {
        switch self {
        // Whoever offers the procedure may be about to come; who cancelled a call did not mean it to come again.
        case .refused(WAMPURI.Error.noSuchProcedure, _), .refused(WAMPURI.Close.systemShutdown, _): true
        case .refused(let uri, _): WAMPURI.isPassing(uri) && uri != WAMPURI.Error.canceled
        case .connectionLost, .timedOut, .notJoined, .tooManyWaiting: true
        case .cancelled, .ended, .invalidURI, .unsupported: false
        }
    }
}
