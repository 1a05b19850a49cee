extension WebSocketURL {
    /// Whether TLS is spoken, and what follows the scheme; nil: another scheme than that of Unix domain sockets.
    static func unixPlace(of string: String) -> (isSecure: Bool, place: Substring)? {
        guard let colon = string.firstIndex(of: ":") else { return nil }
        let place = string[string.index(after: colon)...]
        switch HeaderSyntax.lowercased(string[..<colon]) {
        case "ws+unix": return (false, place)
        case "wss+unix": return (true, place)
        default: return nil
        }
    }

    /// Reads `/run/app.sock:/path?query`, also with the `//` of an empty host before it.
    static func socketAndTarget(_ place: Substring) throws(URLProblem) -> (path: String, target: String) {
        guard !place.contains("#") else {
            throw URLProblem(.fragment, "a WebSocket URL has no fragment; write %23 for a # in the path")
        }
        let place = place.hasPrefix("///") ? place.dropFirst(2) : place
        // A query may follow at once; a ? of the path is written %3F.
        let encoded = place.prefix { $0 != ":" && $0 != "?" }
        guard encoded.hasPrefix("/"), !encoded.hasPrefix("//"), let path = PercentEncoding.decode(encoded) else {
            throw URLProblem(.invalidHost, "after ws+unix: comes the absolute path of a socket, as in ws+unix:/run/app.sock:/path")
        }
        // What all systems take: 104 bytes on Apple's, 108 on Linux, the last of them 0.
        guard path.utf8.count < 104 else { throw URLProblem(.invalidHost, "the path of a Unix domain socket has at most 103 bytes") }
        let rest = place[encoded.endIndex...]
        let tail = rest.hasPrefix(":") ? rest.dropFirst() : rest
        return (path, tail.hasPrefix("/") ? String(tail) : "/" + tail)
    }

    /// The URL of a Unix domain socket.
    ///
    /// - Parameters:
    ///   - path: Where the socket is, absolute, at most 103 bytes.
    ///   - target: The path and the query of the request.
    public init(unixSocket path: String, target: String = "/", isSecure: Bool = false) throws(URLProblem) {
        try self.init("\(isSecure ? "wss" : "ws")+unix:\(PercentEncoding.encode(path: path)):\(target)")
    }
}
