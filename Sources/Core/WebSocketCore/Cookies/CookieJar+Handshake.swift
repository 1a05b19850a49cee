extension CookieJar {
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
