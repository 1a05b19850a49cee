/// The rule for lists of subprotocols: tokens, each once (RFC 6455 §4.1, item 10).
enum Subprotocols {
    /// The place of the first that breaks it, counted from 1; not its name, which may hold a token.
    static func firstInvalid(in names: [String]) -> Int? {
        var seen: Set<String> = []
        return names.firstIndex { !HeaderSyntax.isToken($0) || !seen.insert($0).inserted }.map { $0 + 1 }
    }
}
