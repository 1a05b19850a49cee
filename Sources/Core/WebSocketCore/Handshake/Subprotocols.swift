/// The rule for lists of subprotocols: tokens, each once (RFC 6455 §4.1, item 10).
enum Subprotocols {
    static func firstInvalid(in names: [String]) -> String? {
        var seen: Set<String> = []
        return names.first { !HeaderSyntax.isToken($0) || !seen.insert($0).inserted }
    }
}
