/// The URIs that the specification defines, and its rules for all URIs.
public enum WAMPURI {}

extension WAMPURI {
    /// The URIs of errors.
    public enum Error {
        /// The URI breaks the rules.
        public static let invalidURI = "wamp.error.invalid_uri"
        /// No client has registered the procedure.
        public static let noSuchProcedure = "wamp.error.no_such_procedure"
        /// Another client has registered the procedure already.
        public static let procedureAlreadyExists = "wamp.error.procedure_already_exists"
        /// There is no such registration of this session.
        public static let noSuchRegistration = "wamp.error.no_such_registration"
        /// There is no such subscription of this session.
        public static let noSuchSubscription = "wamp.error.no_such_subscription"
        /// There is no such session.
        public static let noSuchSession = "wamp.error.no_such_session"
        /// The procedure does not accept these arguments.
        public static let invalidArgument = "wamp.error.invalid_argument"
        /// The call was cancelled.
        public static let canceled = "wamp.error.canceled"
        /// A payload is larger than the peer accepts.
        public static let payloadSizeExceeded = "wamp.error.payload_size_exceeded"
        /// The peer violated the protocol.
        public static let protocolViolation = "wamp.error.protocol_violation"
        /// The session is not authorized to do this.
        public static let notAuthorized = "wamp.error.not_authorized"
        /// The authorization check itself failed.
        public static let authorizationFailed = "wamp.error.authorization_failed"
        /// The authentication failed.
        public static let authenticationFailed = "wamp.error.authentication_failed"
        /// The authenticated client is not allowed to join.
        public static let authenticationDenied = "wamp.error.authentication_denied"
        /// No method of authentication is common to both sides.
        public static let noMatchingAuthMethod = "wamp.error.no_matching_auth_method"
        /// There is no such realm.
        public static let noSuchRealm = "wamp.error.no_such_realm"
        /// There is no such role.
        public static let noSuchRole = "wamp.error.no_such_role"
        /// There is no principal with this name.
        public static let noSuchPrincipal = "wamp.error.no_such_principal"
        /// A time limit was exceeded.
        public static let timeout = "wamp.error.timeout"
        /// The option is not allowed.
        public static let optionNotAllowed = "wamp.error.option_not_allowed"
        /// The router does not disclose callers or publishers.
        public static let discloseMeDisallowed = "wamp.error.option_disallowed.disclose_me"
        /// The connection to the callee was lost.
        public static let networkFailure = "wamp.error.network_failure"
        /// The requested resource is not available at present.
        public static let unavailable = "wamp.error.unavailable"
        /// Every callee is busy.
        public static let noAvailableCallee = "wamp.error.no_available_callee"
        /// The router lacks this feature.
        public static let featureNotSupported = "wamp.error.feature_not_supported"
        /// The callee's code failed without an error URI of its own; common routers and clients send this.
        public static let runtimeError = "wamp.error.runtime_error"
    }

    /// The URIs of close reasons.
    public enum Close {
        /// The router shuts down.
        public static let systemShutdown = "wamp.close.system_shutdown"
        /// The session leaves the realm.
        public static let closeRealm = "wamp.close.close_realm"
        /// The answer to a goodbye.
        public static let goodbyeAndOut = "wamp.close.goodbye_and_out"
        /// Another session or the router ended the session.
        public static let killed = "wamp.close.killed"
        /// The session ended normally.
        public static let normal = "wamp.close.normal"
    }
}

// WAMP, "URIs": components are separated by dots, not empty, and contain no white space, dots or `#`; in strict URIs only lower-case
// letters, digits and `_`. In patterns components may be empty: in a wildcard pattern an empty component matches any, and a prefix may
// end within a component.
extension WAMPURI {
    /// Returns whether a URI is valid.
    ///
    /// - Parameters:
    ///   - uri: The URI, or a pattern.
    ///   - match: How the URI is matched; for prefixes and wildcards, the rules of patterns apply.
    ///   - strict: Whether components may contain only lower-case letters, digits and `_`.
    public static func isValid(_ uri: String, _ match: WAMPMatch = .exact, strict: Bool = false) -> Bool {
        var isEmpty = true
        for scalar in uri.unicodeScalars {
            if scalar == "." {
                if isEmpty, match == .exact { return false }
                isEmpty = true
            } else {
                guard isAllowed(scalar, strict: strict) else { return false }
                isEmpty = false
            }
        }
        return !isEmpty || match != .exact
    }

    /// Returns whether a URI is reserved for WAMP: its first component is `wamp`.
    ///
    /// Clients can neither publish to such URIs nor register them.
    public static func isReserved(_ uri: String) -> Bool { uri == "wamp" || uri.utf8.starts(with: "wamp.".utf8) }

    private static func isAllowed(_ scalar: Unicode.Scalar, strict: Bool) -> Bool {
        switch scalar {
        case "a"..."z", "0"..."9", "_": true
        case "#": false
        default: !strict && !scalar.properties.isWhitespace
        }
    }
}

/// How the URI of a subscription or registration matches that of a publication or call.
public enum WAMPMatch: String, Hashable, Sendable, CaseIterable {
    /// The URIs are equal.
    case exact
    /// The URI starts with the prefix: `com.app.` matches `com.app.chat`.
    case prefix
    /// Empty components match any component: `com..created` matches `com.user.created`.
    case wildcard
}
