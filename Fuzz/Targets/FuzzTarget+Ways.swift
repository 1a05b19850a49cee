import WebSocketCore

extension FuzzTarget {
    static func proxy(_ input: inout FuzzInput) throws {
        let kind = input.choose([Proxy.Kind.http, .socks5])
        let login = input.choose([nil, Proxy.Login(user: "user", password: "password")])
        let host = input.choose(["server.example", "192.0.2.1", "2001:db8::1"])
        let (limit, seed) = (input.choose([16_384, 64]), input.byte())
        let proxy = try Proxy(kind, host: "proxy.example", port: 1, login: login)
        let negotiation = try ProxyNegotiation(through: proxy, to: host, port: 443, headLimit: limit)
        let whole = Talk(negotiation, input.rest.pieces(seed: 0))
        try expectEqual(whole, Talk(negotiation, input.rest.pieces(seed: seed)), "the cuts change the talk")
        try expect(whole.used <= input.rest.count, "more bytes were read than exist")
        guard whole.isOpen else { return }
        switch kind {
        case .socks5:
            // RFC 1928 §6: up to the last byte of the bound address and port, and only after our request.
            try expect(1...2 ~= whole.sent.count && whole.sent.last?.starts(with: [5, 1, 0]) == true, "open without a request")
            try expect(9...266 ~= whole.used, "a reply of \(whole.used) bytes")
        default:
            try expect(whole.sent.isEmpty && whole.used <= limit, "\(whole.used) bytes open the tunnel")
            let end = input.rest[..<whole.used].suffix(2)
            try expect(end.last == UInt8(ascii: "\n"), "the tunnel opens within a line")
        }
    }

    /// The result of a negotiation with a proxy.
    private struct Talk: Equatable {
        var (sent, used, isOpen) = ([[UInt8]](), 0, false)
        var failure: ProxyFailure?

        init(_ negotiation: ProxyNegotiation, _ pieces: [UnsafeRawBufferPointer]) {
            var negotiation = negotiation
            for piece in pieces where !isOpen && failure == nil {
                var rest = piece
                do throws(ProxyFailure) {
                    reading: while true {
                        switch try negotiation.receive(&rest) {
                        case .more: break reading
                        case .send(let bytes): sent.append(bytes)
                        case .established:
                            isOpen = true
                            break reading
                        }
                    }
                    used += piece.count - rest.count
                } catch {
                    // The number of bytes read from an invalid reply does not matter.
                    (failure, used) = (error, 0)
                }
            }
        }
    }

    static func cookies(_ input: inout FuzzInput) throws {
        let url = try WebSocketURL(
            input.choose(["wss://www.example.com/a/b", "ws://www.example.com/a/b", "wss://127.0.0.1/", "ws+unix:/run/s:/x"]))
        var limits = CookieJar.Limits()
        (limits.cookiesPerHost, limits.bytesPerHost, limits.cookies) = (4, 400, 5)
        var jar = CookieJar(domains: input.choose([[], ["example.com"]]), limits: limits)
        let now: Int64 = 1_800_000_000
        for line in input.text.utf8.split(separator: UInt8(ascii: "\n")) {
            jar.take(["Set-Cookie": String(Substring(line))], from: url, at: now)
        }
        try expect(jar.cookies.count <= 5, "\(jar.cookies.count) cookies")
        for (host, own) in Dictionary(grouping: jar.cookies, by: \.host) {
            let size = own.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
            try expect(own.count <= 4 && size <= 400, "\(own.count) cookies and \(size) bytes for \(host)")
            let home = url.socketPath ?? url.host
            let isShared = host == "example.com" && home.hasSuffix("example.com") && own.allSatisfy(\.includesSubdomains)
            try expect(
                host == home || isShared || own.allSatisfy { $0.includesSubdomains && home.hasSuffix(".\(host)") }, "cookies for \(host)")
        }
        for cookie in jar.cookies {
            try expect(url.isSecure || !cookie.isSecure, "a Secure cookie from an insecure origin: \(cookie)")
            try expect(
                cookie.expires.map { now < $0 && $0 <= now + 400 * 86_400 } ?? true, "a cookie that expires at \(cookie.expires ?? 0)")
            let again = Cookie(
                name: cookie.name, value: cookie.value, host: cookie.host, includesSubdomains: cookie.includesSubdomains, path: cookie.path,
                isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly, expires: cookie.expires)
            try expectEqual(again, cookie, "a cookie cannot be stored")
        }
        var headers: HeaderFields = ["Host": "h"]
        jar.add(to: &headers, for: url, at: now)
        _ = try RequestHead(method: "GET", target: "/", headers: headers).encoded()
        let before = jar
        for cookie in jar.cookies(for: url, at: now) where !cookie.includesSubdomains {
            let attributes = "Path=\(cookie.path)\(cookie.isSecure ? "; Secure" : "")\(cookie.isHTTPOnly ? "; HttpOnly" : "")"
            let life = cookie.expires.map { "; Max-Age=\($0 - now)" } ?? ""
            jar.take(["Set-Cookie": "\(cookie.name)=\(cookie.value); \(attributes)\(life)"], from: url, at: now)
        }
        try expectEqual(jar, before, "a cookie is not read as it is written")
    }
}
