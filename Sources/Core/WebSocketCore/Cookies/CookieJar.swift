/// Cookies of servers, by the rules of RFC 6265 that matter to handshakes; nothing is in it that was not put there.
///
/// A server sets cookies for itself alone, whatever `Domain` it writes, unless the app says which domains are its own: only who knows all
/// registries can tell `example.com` from `co.uk`, where everybody's servers would get them. As RFC 6265bis has it, what is `Secure` comes
/// over `wss` only and is not replaced over `ws`, and `__Secure-` and `__Host-` names are held to what they promise.
/// `SameSite` has no meaning here: an app has no sites that ask in another's name. Ports are not told apart (RFC 6265 §8.5).
public struct CookieJar: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// How much there may be; what is beyond goes, the oldest first.
    public struct Limits: Hashable, Sendable {
        /// The largest name and value together, in bytes; a larger cookie is not taken.
        public var cookieSize = 4096
        /// How many a host may have.
        public var cookiesPerHost = 50
        /// How many bytes of names and values a host may have; each handshake carries them.
        public var bytesPerHost = 16 * 1024
        /// How many there may be of all hosts.
        public var cookies = 500

        /// The defaults.
        public init() {}
    }

    /// The cookies, the oldest first.
    public private(set) var cookies: [Cookie] = []
    private let domains: [String]
    private let limits: Limits

    /// A jar.
    ///
    /// - Parameters:
    ///   - cookies: What is in it, such as what the app has stored.
    ///   - domains: The app's own domains, such as `example.com`: a server there may set cookies for all of it.
    ///   - limits: How much there may be.
    public init(_ cookies: [Cookie] = [], domains: [String] = [], limits: Limits = Limits()) {
        self.domains = domains.map { HeaderSyntax.lowercased($0.hasPrefix(".") ? $0.dropFirst() : $0[...]) }
        self.limits = limits
        for cookie in cookies { insert(cookie) }
    }

    /// Those that go along with a handshake for this URL, in the order of RFC 6265 §5.4.
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

    /// Puts one in, in place of one with the same name, host and path.
    public mutating func insert(_ cookie: Cookie) {
        guard cookie.size <= limits.cookieSize else { return }
        if let place = cookies.firstIndex(where: cookie.takesPlace) { cookies[place] = cookie } else { cookies.append(cookie) }
        makeRoom(for: cookie.host)
    }

    /// Takes out what the app wants no more.
    public mutating func removeAll(where isUnwanted: (Cookie) -> Bool) { cookies.removeAll(where: isUnwanted) }

    /// How many there are; no name and no value.
    public var description: String { "a jar of \(cookies.count) \(cookies.count == 1 ? "cookie" : "cookies")" }

    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["jar": description]) }

    /// Whether the app has said that all servers there are its own.
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

    /// Takes in what an answer sets (RFC 6265 §5.3), and drops what has expired.
    ///
    /// - Parameters:
    ///   - headers: Those of the answer, be it a 101, a refusal or a redirect.
    ///   - url: Where the request went.
    ///   - now: Seconds since 1970.
    public mutating func take(_ headers: HeaderFields, from url: WebSocketURL, at now: Int64) {
        removeAll { $0.hasExpired(at: now) }
        for field in headers.values("Set-Cookie") {
            guard let said = SetCookie(field), let cookie = cookie(said, from: url, at: now) else { continue }
            if cookie.hasExpired(at: now) { removeAll(where: cookie.takesPlace) } else { insert(cookie) }
        }
    }

    /// Adds what goes along with a handshake for this URL; a name that a `Cookie` field has already is the app's own choice.
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

    /// RFC 6265bis §4.1.3: what the beginning of a name promises, in whatever case.
    private func keepsPromise(_ said: SetCookie) -> Bool {
        let name = HeaderSyntax.lowercased(said.name)
        if name.hasPrefix("__host-") { return said.isSecure && said.domain == nil && said.path == "/" }
        return !name.hasPrefix("__secure-") || said.isSecure
    }

    /// RFC 6265bis §5.7: whoever listens in on `ws` could set a cookie there that stands before the one of `wss`.
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
