extension WebSocketURL {
    /// What a `Location` means that came from here (RFC 3986 §5.2); `http` and `https` stand for `ws` and `wss`.
    ///
    /// A fragment is left out: it concerns nobody but the client.
    func resolve(_ location: String) throws(URLProblem) -> WebSocketURL {
        let reference = location.prefix { $0 != "#" }
        let scheme = reference.prefix { $0 != ":" && $0 != "/" && $0 != "?" }
        if scheme.endIndex < reference.endIndex, reference[scheme.endIndex] == ":" {
            let rest = reference[scheme.endIndex...]
            switch HeaderSyntax.lowercased(scheme) {
            case "http", "ws": return try WebSocketURL("ws\(rest)")
            case "https", "wss": return try WebSocketURL("wss\(rest)")
            // No server chooses which of this machine's sockets we speak to.
            default: throw URLProblem(.unsupportedScheme, "\(quoted(scheme)) is not a scheme to be sent to")
            }
        }
        if reference.hasPrefix("//") { return try WebSocketURL("\(isSecure ? "wss" : "ws"):\(reference)") }
        return try WebSocketURL(origin + Self.merge(reference, into: target))
    }

    private static func merge(_ reference: Substring, into target: String) -> String {
        let base = target.prefix { $0 != "?" }
        if reference.isEmpty { return target }
        if reference.hasPrefix("?") { return String(base + reference) }
        let path = reference.prefix { $0 != "?" }
        let directory = base[...(base.lastIndex(of: "/") ?? base.startIndex)]
        return withoutDots(path.hasPrefix("/") ? path : directory + path) + reference[path.endIndex...]
    }

    /// RFC 3986 §5.2.4.
    private static func withoutDots(_ path: Substring) -> String {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            case ".": if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
