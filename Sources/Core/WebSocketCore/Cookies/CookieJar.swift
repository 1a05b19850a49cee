/// A cookie store with the rules of RFC 6265 that matter for handshakes.
///
/// It starts with the cookies that the app passes.
///
/// A server can set cookies only for itself, whatever `Domain` it sends, unless the app declares its own domains. Without a list of all
/// registries, `example.com` cannot be distinguished from `co.uk`, where a shared cookie would reach the servers of strangers. As RFC 6265bis says,
/// `Secure` cookies are accepted over `wss` only and not replaced over `ws`, and the prefixes `__Secure-` and `__Host-` are enforced.
/// `SameSite` is ignored, because an app sends no cross-site requests. Ports are not distinguished (RFC 6265 §8.5).
public struct CookieJar: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The limits of a jar.
    ///
    /// Beyond them the oldest cookies are removed.
    public struct Limits: Hashable, Sendable {
        /// The maximum size of name and value together, in bytes.
        ///
        /// A larger cookie is rejected.
        public var cookieSize = 4096
        /// The maximum number of cookies per host.
        public var cookiesPerHost = 50
        /// The maximum size of all names and values per host, in bytes.
        ///
        /// Each handshake carries them.
        public var bytesPerHost = 16 * 1024
        /// The maximum number of cookies of all hosts.
        public var cookies = 500

        /// Creates the default limits.
        public init() {}
    }

    /// The cookies, oldest first.
    public private(set) var cookies: [Cookie] = []
    private let domains: [String]
    private let limits: Limits

    /// Creates a jar.
    ///
    /// - Parameters:
    ///   - cookies: The initial cookies, such as those that the app has stored.
    ///   - domains: The app's own domains, such as `example.com`. A server there may set cookies for the whole domain.
    ///   - limits: The limits.
    public init(_ cookies: [Cookie] = [], domains: [String] = [], limits: Limits = Limits()) {
        self.domains = domains.map { HeaderSyntax.lowercased($0.hasPrefix(".") ? $0.dropFirst() : $0[...]) }
        self.limits = limits
        for cookie in cookies { insert(cookie) }
    }

    /// Returns the cookies to send with a handshake for this URL, in the order of RFC 6265 §5.4.
    ///
    /// - Parameter now: Seconds since 1970.
    public func cookies(for url: WebSocketURL, at now: Int64) -> [Cookie] {
        let due = cookies.enumerated().filter { $0.element.goes(to: url) && !$0.element.hasExpired(at: now) }
        let ordered = due.sorted { one, other in
            let (length, otherLength) = (one.element.path.utf8.count, other.element.path.utf8.count)
            return length == otherLength ? one.offset < other.offset : length > otherLength
        }
        return ordered.map(\.element)
    }

    /// Adds a cookie; replaces one with the same name, host and path.
    public mutating func insert(_ cookie: Cookie) {
        guard cookie.size <= limits.cookieSize else { return }
        if let place = cookies.firstIndex(where: cookie.takesPlace) { cookies[place] = cookie } else { cookies.append(cookie) }
        makeRoom(for: cookie.host)
    }

    /// Removes the cookies that match.
    public mutating func removeAll(where isUnwanted: (Cookie) -> Bool) { cookies.removeAll(where: isUnwanted) }

    /// The number of cookies, without names and values.
    public var description: String { "a jar of \(cookies.count) \(cookies.count == 1 ? "cookie" : "cookies")" }

    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["jar": description]) }

    /// Returns whether the app has declared this domain, or a parent domain, as its own.
    func isOwn(_ domain: String) -> Bool { domains.contains { $0 == domain || domain.hasSuffix(".\($0)") && !$0.isEmpty } }

    private mutating func makeRoom(for host: String) {
        func isTooMuch(_ own: [Cookie]) -> Bool {
            own.count > limits.cookiesPerHost || own.reduce(0) { $0 + $1.size } > limits.bytesPerHost
        }
        while isTooMuch(cookies.filter { $0.host == host }), let oldest = cookies.firstIndex(where: { $0.host == host }) {
            cookies.remove(at: oldest)
        }
        if cookies.count > limits.cookies { cookies.removeFirst(cookies.count - max(limits.cookies, 0)) }
    }

    /// Stores the cookies that a response sets (RFC 6265 §5.3), and removes expired ones.
    ///
    /// - Parameters:
    ///   - headers: The header fields of the response, which may be a 101, a refusal or a redirect.
    ///   - url: The URL of the request.
    ///   - now: Seconds since 1970.
    public mutating func take(_ headers: HeaderFields, from url: WebSocketURL, at now: Int64) {
        removeAll { $0.hasExpired(at: now) }
        for field in headers.values("Set-Cookie") {
            guard let said = SetCookie(field), let cookie = cookie(said, from: url, at: now) else { continue }
            if cookie.hasExpired(at: now) { removeAll(where: cookie.takesPlace) } else { insert(cookie) }
        }
    }

    /// Adds the cookies for a handshake with this URL.
    ///
    /// A name already in a `Cookie` field is skipped, because the app chose its value.
    ///
    /// - Parameter now: Seconds since 1970.
    public func add(to headers: inout HeaderFields, for url: WebSocketURL, at now: Int64) {
        let chosen = headers.values("Cookie")
        let names = Set(chosen.flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }.map(Self.name))
        let due = cookies(for: url, at: now).filter { !names.contains($0.name) }
        guard !due.isEmpty else { return }
        headers["Cookie"] = (chosen + due.map { "\($0.name)=\($0.value)" }).joined(separator: "; ")
    }

    private static func name(_ pair: Substring.UTF8View) -> String {
        String(HeaderSyntax.trimmed(Substring(pair.prefix { $0 != UInt8(ascii: "=") })))
    }

    private func cookie(_ said: SetCookie, from url: WebSocketURL, at now: Int64) -> Cookie? {
        var (host, isShared) = (url.cookieHost, false)
        if let domain = said.domain {
            guard host == domain || host.hasSuffix(".\(domain)") && IPAddress(host) == nil else { return nil }
            isShared = isOwn(domain) && IPAddress(host) == nil
            if isShared { host = domain }
        }
        let path = said.path ?? url.defaultCookiePath
        guard keepsPromise(said), url.isSecure || !said.isSecure,
            let cookie = Cookie(
                name: said.name, value: said.value, host: host, includesSubdomains: isShared, path: path, isSecure: said.isSecure,
                isHTTPOnly: said.isHTTPOnly, expires: said.expiry(at: now)),
            url.isSecure || !cookies.contains(where: { hides($0, cookie) })
        else { return nil }
        return cookie
    }

    /// RFC 6265bis §4.1.3: checks the rules of the name prefixes, ignoring case.
    private func keepsPromise(_ said: SetCookie) -> Bool {
        let name = HeaderSyntax.lowercased(said.name)
        if name.hasPrefix("__host-") { return said.isSecure && said.domain == nil && said.path == "/" }
        return !name.hasPrefix("__secure-") || said.isSecure
    }

    /// RFC 6265bis §5.7: an attacker on `ws` must not set a cookie that would take precedence over one set via `wss`.
    private func hides(_ old: Cookie, _ new: Cookie) -> Bool {
        old.isSecure && old.name == new.name && (old.covers(host: new.host) || new.covers(host: old.host)) && old.covers(path: new.path)
    }
}

extension WebSocketURL {
    /// The directory of the request (RFC 6265 §5.1.4).
    fileprivate var defaultCookiePath: String {
        let directory = cookiePath[..<(cookiePath.lastIndex(of: "/") ?? cookiePath.startIndex)]
        return directory.isEmpty ? "/" : String(directory)
    }
}
