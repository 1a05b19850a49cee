/// URIs that the specification names, and its rules for all others.
public enum WAMPURI {}

extension WAMPURI {
    /// The URIs of errors.
    public enum Error {
        /// The URI breaks the rules.
        public static let invalidURI = "wamp.error.invalid_uri"
        /// Nobody offers the procedure.
        public static let noSuchProcedure = "wamp.error.no_such_procedure"
        /// Somebody offers the procedure already.
        public static let procedureAlreadyExists = "wamp.error.procedure_already_exists"
        /// There is no such registration of this session.
        public static let noSuchRegistration = "wamp.error.no_such_registration"
        /// There is no such subscription of this session.
        public static let noSuchSubscription = "wamp.error.no_such_subscription"
        /// There is no such session.
        public static let noSuchSession = "wamp.error.no_such_session"
        /// The procedure does not take these arguments.
        public static let invalidArgument = "wamp.error.invalid_argument"
        /// The call was cancelled.
        public static let canceled = "wamp.error.canceled"
        /// A payload is larger than the peer takes.
        public static let payloadSizeExceeded = "wamp.error.payload_size_exceeded"
        /// The peer broke the protocol.
        public static let protocolViolation = "wamp.error.protocol_violation"
        /// This session may not do that.
        public static let notAuthorized = "wamp.error.not_authorized"
        /// Whether it may could not be found out.
        public static let authorizationFailed = "wamp.error.authorization_failed"
        /// Who it is could not be proven.
        public static let authenticationFailed = "wamp.error.authentication_failed"
        /// It may not join as who it is.
        public static let authenticationDenied = "wamp.error.authentication_denied"
        /// No method of authentication is common to both sides.
        public static let noMatchingAuthMethod = "wamp.error.no_matching_auth_method"
        /// There is no such realm.
        public static let noSuchRealm = "wamp.error.no_such_realm"
        /// There is no such role.
        public static let noSuchRole = "wamp.error.no_such_role"
        /// There is nobody of this name.
        public static let noSuchPrincipal = "wamp.error.no_such_principal"
        /// It took too long.
        public static let timeout = "wamp.error.timeout"
        /// The option may not be used.
        public static let optionNotAllowed = "wamp.error.option_not_allowed"
        /// The router does not tell who calls or publishes.
        public static let discloseMeDisallowed = "wamp.error.option_disallowed.disclose_me"
        /// The connection to the callee was lost.
        public static let networkFailure = "wamp.error.network_failure"
        /// It cannot be had at present.
        public static let unavailable = "wamp.error.unavailable"
        /// Every callee is busy.
        public static let noAvailableCallee = "wamp.error.no_available_callee"
        /// The router lacks this feature.
        public static let featureNotSupported = "wamp.error.feature_not_supported"
        /// A callee's code failed without naming an error of its own; routers and clients in use send this.
        public static let runtimeError = "wamp.error.runtime_error"
    }

    /// The URIs of ends.
    public enum Close {
        /// The router shuts down.
        public static let systemShutdown = "wamp.close.system_shutdown"
        /// The session leaves the realm.
        public static let closeRealm = "wamp.close.close_realm"
        /// The answer to a goodbye.
        public static let goodbyeAndOut = "wamp.close.goodbye_and_out"
        /// Somebody ended the session.
        public static let killed = "wamp.close.killed"
        /// The session ended as usual.
        public static let normal = "wamp.close.normal"
    }
}

// WAMP, "URIs": components between dots, none of them empty, without white space, dots and `#`; in strict URIs of lower-case letters,
// digits and `_` only. In a pattern components may be empty: those of a wildcard stand for any, and a prefix may end within one.
extension WAMPURI {
    /// Whether a URI keeps to the rules.
    ///
    /// - Parameters:
    ///   - uri: The URI, or a pattern.
    ///   - match: How it is compared; for prefixes and wildcards the rules of patterns hold.
    ///   - strict: Whether its components may have only lower-case letters, digits and `_`.
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

    /// Whether a URI belongs to WAMP itself: its first component is `wamp`.
    ///
    /// Clients can neither publish nor register such ones.
    public static func isReserved(_ uri: String) -> Bool { uri == "wamp" || uri.utf8.starts(with: "wamp.".utf8) }

    private static func isAllowed(_ scalar: Unicode.Scalar, strict: Bool) -> Bool {
        switch scalar {
        case "a"..."z", "0"..."9", "_": true
        case "#": false
        default: !strict && !scalar.properties.isWhitespace
        }
    }
}

/// How the URI of a subscription or registration is compared with that of a publication or call.
public enum WAMPMatch: String, Hashable, Sendable, CaseIterable {
    /// They are the same.
    case exact
    /// It begins like this: `com.app.` matches `com.app.chat`.
    case prefix
    /// Components left empty stand for any: `com..created` matches `com.user.created`.
    case wildcard
}
