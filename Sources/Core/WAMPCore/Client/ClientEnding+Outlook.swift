extension ClientEnding {
    /// Whether another connection cannot help: then everything that waits ends with ``ClientFailure/ended``.
    public var isFinal: Bool {
        switch self {
        case .left, .imposter: true
        case .dismissed(_, _, let isRetryable): !isRetryable
        case .violation, .unproven, .joinTimedOut: false
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
