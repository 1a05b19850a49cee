/// The rules for lists of subprotocols.
enum Subprotocols {
    /// The place, counted from 1, of the first that is no token or there twice (RFC 6455 §4.1, item 10).
    ///
    /// Not its name, which may hold a secret.
    static func firstInvalid(in names: [String]) -> Int? {
        var seen: Set<String> = []
        return names.firstIndex { !HeaderSyntax.isToken($0) || !seen.insert($0).inserted }.map { $0 + 1 }
    }
}

extension HandshakeFailure {
    /// It names none: a server that repeats what it was offered would put a token into logs.
    static var subprotocolNotOffered: HandshakeFailure {
        HandshakeFailure(.invalidSubprotocol, "the server chose a subprotocol that was not offered, or several")
    }
}
