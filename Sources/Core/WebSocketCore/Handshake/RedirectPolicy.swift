/// Whether and how far the client follows redirects with 301, 302, 303, 307 or 308 (RFC 9110 §15.4).
///
/// It never follows a redirect from `wss` to `ws`. If a redirect leaves the origin (scheme, host and port), credentials are not sent.
public struct RedirectPolicy: Hashable, Sendable {
    /// Which targets a redirect may have.
    public enum Reach: Hashable, Sendable {
        /// Another path or port on the same host, also from `ws` to `wss`.
        case sameHost
        /// Any host. The server then decides where this client connects, including internal hosts.
        case anyHost
    }

    /// The maximum number of redirects in a row; 0 for none.
    public var limit: Int
    /// Which targets are allowed.
    public var reach: Reach
    /// Whether a redirect that leaves the origin is an error, because the data sent over the connection is meant for this origin only.
    package var staysInOrigin = false

    /// Creates a policy; by default it follows up to five redirects in a row, on the same host.
    public init(limit: Int = 5, reach: Reach = .sameHost) { (self.limit, self.reach) = (limit, reach) }

    /// Follows no redirects: a redirect is a refusal.
    public static let never = RedirectPolicy(limit: 0)

    /// Returns the target of a redirect.
    ///
    /// - Parameters:
    ///   - response: The response to the upgrade request.
    ///   - url: The URL of that request.
    ///   - followed: The number of redirects followed so far.
    /// - Returns: Nil if the response is not a redirect, or no redirects are followed.
    /// - Throws: Why this redirect is not followed.
    public func next(after response: ResponseHead, from url: WebSocketURL, followed: Int) throws(RedirectProblem) -> Redirect? {
        guard limit > 0, [301, 302, 303, 307, 308].contains(response.status) else { return nil }
        guard followed < limit else { throw RedirectProblem(.tooMany, "that is one more than the \(limit) allowed in a row") }
        let locations = response.headers.values("Location")
        guard locations.count == 1 else {
            throw RedirectProblem(.invalidLocation, locations.isEmpty ? "there is no Location" : "there is more than one Location")
        }
        let target: WebSocketURL
        do throws(URLProblem) {
            target = try url.resolve(locations[0])
        } catch {
            throw RedirectProblem(.invalidLocation, "its Location is not a WebSocket URL: \(error.description)")
        }
        guard target.isSecure || !url.isSecure else { throw RedirectProblem(.downgrade, "\(target) is not encrypted, but \(url) is") }
        let isSameHost = target.host == url.host && target.socketPath == url.socketPath
        guard reach == .anyHost || isSameHost else { throw RedirectProblem(.elsewhere, "\(target) is on another host") }
        let leavesOrigin = !isSameHost || target.port != url.port || target.isSecure != url.isSecure
        guard !leavesOrigin || !staysInOrigin else {
            throw RedirectProblem(.elsewhere, "\(target) is another origin, and the data is meant for this origin only")
        }
        return Redirect(url: target, leavesOrigin: leavesOrigin)
    }
}

/// The target of a redirect.
public struct Redirect: Hashable, Sendable {
    /// The URL to connect to.
    public let url: WebSocketURL
    /// Whether scheme, host or port differ, so that credentials are not sent.
    public let leavesOrigin: Bool
}

/// Why a redirect is not followed.
public struct RedirectProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of problem, for code.
    public let code: Code
    /// The problem in words, for people, without credentials.
    public let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    /// The kinds of problem; more may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The kind in words.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// One redirect more than the policy allows in a row; possibly a loop.
        public static let tooMany = Code("too many redirects")
        /// There is no `Location`, more than one, or it is not a WebSocket URL.
        public static let invalidLocation = Code("invalid location")
        /// The target is not encrypted, but the connection was.
        public static let downgrade = Code("downgrade")
        /// The target is on another host or origin, which the policy does not allow.
        public static let elsewhere = Code("elsewhere")
    }
}
