/// Whether a server may send us elsewhere with 301, 302, 303, 307 or 308 (RFC 9110 §15.4), and how far.
///
/// Never from `wss` to `ws`, whatever the policy. What leaves the origin (scheme, host and port) goes without credentials.
public struct RedirectPolicy: Hashable, Sendable {
    /// How far away a server may send us.
    public enum Reach: Hashable, Sendable {
        /// To another path, port, or from `ws` to `wss`, on the same host.
        case sameHost
        /// Anywhere: whoever controls the server chooses where we connect to, internal hosts included.
        case anyHost
    }

    /// How many redirects in a row are followed; 0: none.
    public var limit: Int
    /// How far away they may lead.
    public var reach: Reach
    /// Whether those that leave the origin are an error: what is said over the connection is a secret of that origin.
    package var staysInOrigin = false

    /// A policy; by default up to five in a row, on the same host.
    public init(limit: Int = 5, reach: Reach = .sameHost) { (self.limit, self.reach) = (limit, reach) }

    /// A redirect is a refusal like others.
    public static let never = RedirectPolicy(limit: 0)

    /// Where an answer sends us.
    ///
    /// - Parameters:
    ///   - response: The answer to the request for an upgrade.
    ///   - url: Where it was sent to.
    ///   - followed: How many redirects led there.
    /// - Returns: Nil if the answer is no redirect, or none is to be followed.
    /// - Throws: Why this one is not followed.
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
            throw RedirectProblem(.invalidLocation, "its Location is no URL of a WebSocket: \(error.description)")
        }
        guard target.isSecure || !url.isSecure else { throw RedirectProblem(.downgrade, "\(target) is not encrypted, and \(url) is") }
        let isSameHost = target.host == url.host && target.socketPath == url.socketPath
        guard reach == .anyHost || isSameHost else { throw RedirectProblem(.elsewhere, "\(target) is on another host") }
        let leavesOrigin = !isSameHost || target.port != url.port || target.isSecure != url.isSecure
        guard !leavesOrigin || !staysInOrigin else {
            throw RedirectProblem(.elsewhere, "\(target) is another origin, and what is sent here is for this one alone")
        }
        return Redirect(url: target, leavesOrigin: leavesOrigin)
    }
}

/// Where a server sends us.
public struct Redirect: Hashable, Sendable {
    /// Where to connect to instead.
    public let url: WebSocketURL
    /// Whether scheme, host or port are others, so that credentials stay behind.
    public let leavesOrigin: Bool
}

/// Why a redirect is not followed.
public struct RedirectProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// For code to decide by.
    public let code: Code
    /// What is wrong, for people; holds no credentials.
    public let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    /// The kinds of problem; more may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// In plain words.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// One more than the policy allows in a row; perhaps a loop.
        public static let tooMany = Code("too many redirects")
        /// There is no `Location`, more than one, or it is not the URL of a WebSocket.
        public static let invalidLocation = Code("invalid location")
        /// From an encrypted connection to one that is not.
        public static let downgrade = Code("downgrade")
        /// To another host, which the policy does not allow.
        public static let elsewhere = Code("elsewhere")
    }
}
