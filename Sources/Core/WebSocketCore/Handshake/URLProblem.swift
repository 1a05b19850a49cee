/// Why a string is not the URL of a WebSocket.
public struct URLProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// For code to decide by.
    public let code: Code
    /// What is wrong and what is wanted, for people; holds no credentials.
    public let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    /// The kinds of problem; more may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// In plain words.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// A space, a control character, or one beyond ASCII.
        public static let invalidCharacter = Code("invalid character")
        /// There is no `ws://` or `wss://`.
        public static let missingScheme = Code("missing scheme")
        /// The scheme is another one than `ws` or `wss`.
        public static let unsupportedScheme = Code("unsupported scheme")
        /// There is a user name or a password before the host.
        public static let userInfo = Code("user info")
        /// There is no host.
        public static let missingHost = Code("missing host")
        /// The host is neither a name nor an address.
        public static let invalidHost = Code("invalid host")
        /// The port is not a number in `1...65535`.
        public static let invalidPort = Code("invalid port")
        /// There is a `#`.
        public static let fragment = Code("fragment")
    }
}
