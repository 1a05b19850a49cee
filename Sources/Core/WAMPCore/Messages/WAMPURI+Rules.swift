// WAMP, "URIs": components between dots, none of them empty, without white space, dots and `#`; in strict URIs of lower-case letters,
// digits and `_` only. In a pattern components may be empty: those of a wildcard stand for any, and a prefix may end within one.
extension WAMPURI {
    /// Whether a URI keeps to the rules.
    ///
    /// - Parameters:
    ///   - uri: The URI, or a pattern.
    ///   - match: How it is compared; for prefixes and wildcards the rules of patterns hold.
    ///   - strict: Whether its components may have only lower-case letters, digits and `_`.
    public static func isValid(_ uri: String, _ match: WAMPMatch = .exact, strict: Bool = false) -> Bool {
        var isEmpty = true
        for scalar in uri.unicodeScalars {
            if scalar == "." {
                if isEmpty, match == .exact { return false }
                isEmpty = true
            } else {
                guard isAllowed(scalar, strict: strict) else { return false }
                isEmpty = false
            }
        }
        return !isEmpty || match != .exact
    }

    /// Whether a URI belongs to WAMP itself: its first component is `wamp`.
    ///
    /// Clients can neither publish nor register such ones.
    public static func isReserved(_ uri: String) -> Bool { uri == "wamp" || uri.utf8.starts(with: "wamp.".utf8) }

    private static func isAllowed(_ scalar: Unicode.Scalar, strict: Bool) -> Bool {
        switch scalar {
        case "a"..."z", "0"..."9", "_": true
        case "#": false
        default: !strict && !scalar.properties.isWhitespace
        }
    }
}
