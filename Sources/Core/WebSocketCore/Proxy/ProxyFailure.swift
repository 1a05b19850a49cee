/// Why a proxy did not open the way.
public struct ProxyFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was wrong, for code to decide by.
    public let kind: Kind
    /// What exactly was wrong, for people; holds no password.
    public let description: String
    /// The answer of an HTTP proxy, if it gave one.
    public let response: ResponseHead?

    init(_ kind: Kind, _ description: String, response: ResponseHead? = nil) {
        (self.kind, self.description, self.response) = (kind, description, response)
    }

    /// The kinds of failure; more may be added.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// In plain words.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// It wants a name and a password, others than it was given, or a way to prove them that is not spoken here.
        public static let loginNeeded = Kind("login needed")
        /// It does not let us through to this server.
        public static let forbidden = Kind("forbidden")
        /// It could not reach the server: that may pass.
        public static let serverUnreachable = Kind("server unreachable")
        /// It does not speak as such a proxy does.
        public static let malformed = Kind("malformed")
    }
}
