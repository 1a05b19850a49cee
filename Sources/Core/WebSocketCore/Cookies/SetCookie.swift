/// What one `Set-Cookie` field says, not yet held against who says it (RFC 6265 §5.2).
struct SetCookie: Hashable, Sendable {
    /// As in RFC 6265bis §5.6: a longer attribute counts as absent.
    private static let longestAttribute = 1024

    let name: String
    let value: String
    /// In lower case, without a dot before it; nil: none.
    private(set) var domain: String?
    /// nil: none, or none that begins with `/`.
    private(set) var path: String?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private var expires: Int64?
    /// Negative: at once.
    private var maximumAge: Int64?

    /// Nil for a field that sets nothing.
    init?(_ field: String) {
        // On bytes: a character may be more than the separator within it.
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map { Substring($0) }
        let pair = Self.pair(parts[0])
        guard let value = pair.value, !pair.name.isEmpty, HeaderSyntax.isFieldValue(field) else { return nil }
        (name, self.value) = (String(pair.name), String(value))
        for part in parts.dropFirst() { read(part) }
    }

    /// When it ends, in seconds since 1970; nil: with the session.
    ///
    /// `Max-Age` counts more than `Expires`. No cookie lasts longer than 400 days (RFC 6265bis §5.5).
    func expiry(at now: Int64) -> Int64? {
        let longest: Int64 = 400 * 86_400
        guard let maximumAge else { return expires.map { min($0, now + longest) } }
        return maximumAge > 0 ? now + min(maximumAge, longest) : .min
    }

    private mutating func read(_ part: Substring) {
        let (name, value) = Self.pair(part)
        let text = value ?? ""
        guard text.utf8.count <= Self.longestAttribute else { return }
        switch HeaderSyntax.lowercased(name) {
        case "expires": expires = CookieDate.seconds(text) ?? expires
        case "max-age": maximumAge = Self.age(text) ?? maximumAge
        case "domain":
            let domain = text.utf8.first == UInt8(ascii: ".") ? text.dropFirst() : text
            if !domain.isEmpty { self.domain = HeaderSyntax.lowercased(domain) }
        case "path": path = text.utf8.first == UInt8(ascii: "/") ? String(text) : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        default: break
        }
    }

    private static func pair(_ part: Substring) -> (name: Substring, value: Substring?) {
        guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (HeaderSyntax.trimmed(part), nil) }
        return (HeaderSyntax.trimmed(part[..<equals]), HeaderSyntax.trimmed(part[part.utf8.index(after: equals)...]))
    }

    /// Digits, with a minus before them perhaps; what no number holds is as long as one can be.
    private static func age(_ text: Substring) -> Int64? {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        guard HeaderSyntax.isDecimal(isNegative ? text.dropFirst() : text) else { return nil }
        return isNegative ? 0 : Int64(text) ?? .max
    }
}
