/// A cookie with its scope (RFC 6265).
///
/// The description and dumps omit the value. The `Codable` form, with which the app can store the cookie, contains it.
public struct Cookie: Hashable, Sendable, Codable, CustomStringConvertible, CustomReflectable {
    /// The name.
    public let name: String
    /// The value, as sent in requests.
    public let value: String
    /// The host that it is sent to, in lower case; for a server on a Unix domain socket, the path of that socket.
    public let host: String
    /// Whether it is also sent to subdomains of ``host``.
    public let includesSubdomains: Bool
    /// The path at and below which it is sent.
    public let path: String
    /// Whether it is sent over `wss` only.
    public let isSecure: Bool
    /// Whether it is for HTTP only and must not be shown to scripts.
    ///
    /// It has no effect here.
    public let isHTTPOnly: Bool
    /// When it expires, in seconds since 1970; nil for a session cookie, which lasts as long as the app keeps it.
    public let expires: Int64?

    /// Creates a cookie from another source, such as the app's login or its store.
    ///
    /// - Returns: Nil if the name, value, host or path could not be part of a `Cookie` or `Set-Cookie` field.
    public init?(
        name: String, value: String, host: String, includesSubdomains: Bool = false, path: String = "/", isSecure: Bool = true,
        isHTTPOnly: Bool = false, expires: Int64? = nil
    ) {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "=")), path.utf8.first == UInt8(ascii: "/"), !host.isEmpty else { return nil }
        for text in [name, value, host, path] {
            guard HeaderSyntax.isFieldValue(text), !text.utf8.contains(UInt8(ascii: ";")),
                HeaderSyntax.trimmed(text).utf8.count == text.utf8.count
            else { return nil }
        }
        (self.name, self.value, self.path, self.expires) = (name, value, path, expires)
        self.host = host.utf8.first == UInt8(ascii: "/") ? host : HeaderSyntax.lowercased(host)
        (self.includesSubdomains, self.isSecure, self.isHTTPOnly) = (includesSubdomains, isSecure, isHTTPOnly)
    }

    private enum CodingKeys: String, CodingKey {
        case name, value, host, includesSubdomains, path, isSecure, isHTTPOnly, expires
    }

    /// Reads a stored cookie; throws if it could not be sent.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let cookie = Cookie(
            name: try fields.decode(String.self, forKey: .name), value: try fields.decode(String.self, forKey: .value),
            host: try fields.decode(String.self, forKey: .host),
            includesSubdomains: try fields.decode(Bool.self, forKey: .includesSubdomains),
            path: try fields.decode(String.self, forKey: .path), isSecure: try fields.decode(Bool.self, forKey: .isSecure),
            isHTTPOnly: try fields.decode(Bool.self, forKey: .isHTTPOnly), expires: try fields.decodeIfPresent(Int64.self, forKey: .expires)
        )
        guard let cookie else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "this is not a valid cookie"))
        }
        self = cookie
    }

    /// The name, host and path, without the value.
    public var description: String { "\(name) for \(includesSubdomains ? "*." : "")\(host)\(path)" }

    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }

    /// Returns whether it is sent with a request for this URL, apart from its expiry.
    func goes(to url: WebSocketURL) -> Bool { (url.isSecure || !isSecure) && covers(host: url.cookieHost) && covers(path: url.cookiePath) }

    func hasExpired(at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }

    /// RFC 6265 §5.1.3.
    func covers(host other: String) -> Bool {
        other == host || includesSubdomains && other.hasSuffix(".\(host)") && IPAddress(other) == nil
    }

    /// RFC 6265 §5.1.4.
    func covers(path other: some StringProtocol) -> Bool {
        guard other.utf8.starts(with: path.utf8) else { return false }
        return path.utf8.last == UInt8(ascii: "/") || [nil, UInt8(ascii: "/")].contains(other.utf8.dropFirst(path.utf8.count).first)
    }

    /// RFC 6265 §5.3: a cookie with the same name, host and path replaces the other one.
    func takesPlace(of other: Cookie) -> Bool { name == other.name && host == other.host && path == other.path }

    /// The size in a request, in bytes.
    var size: Int { name.utf8.count + value.utf8.count }
}

extension WebSocketURL {
    /// The host for cookies.
    ///
    /// Each Unix domain socket has cookies of its own, separate from those of `localhost`.
    var cookieHost: String { socketPath ?? host }

    var cookiePath: Substring { target.prefix { $0 != "?" } }
}

/// The content of one `Set-Cookie` field, not yet checked against its sender (RFC 6265 §5.2).
struct SetCookie: Hashable, Sendable {
    /// A longer attribute is ignored (RFC 6265bis §5.6).
    private static let longestAttribute = 1024

    let name: String
    let value: String
    /// In lower case, without a leading dot; nil if absent.
    private(set) var domain: String?
    /// Nil if absent or if it does not begin with `/`.
    private(set) var path: String?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private var expires: Int64?
    /// Negative: expired at once.
    private var maximumAge: Int64?

    /// Returns nil if the field sets no cookie.
    init?(_ field: String) {
        // Split as bytes, because a separator may be part of a larger character.
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map { Substring($0) }
        let pair = Self.pair(parts[0])
        guard let value = pair.value, !pair.name.isEmpty, HeaderSyntax.isFieldValue(field) else { return nil }
        (name, self.value) = (String(pair.name), String(value))
        for part in parts.dropFirst() { read(part) }
    }

    /// Returns when the cookie expires, in seconds since 1970; nil for a session cookie.
    ///
    /// `Max-Age` takes precedence over `Expires`. No cookie lasts longer than 400 days (RFC 6265bis §5.5).
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

    /// Reads digits with an optional minus.
    ///
    /// A number that is too large counts as the maximum.
    private static func age(_ text: Substring) -> Int64? {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        guard HeaderSyntax.isDecimal(isNegative ? text.dropFirst() : text) else { return nil }
        return isNegative ? 0 : Int64(text) ?? .max
    }
}

/// Reads the dates of cookies, which servers write in many formats (RFC 6265 §5.1.1).
enum CookieDate {
    /// Returns the seconds since 1970; nil if it is not a date.
    static func seconds(_ text: some StringProtocol) -> Int64? {
        var (time, day, month, year) = (Int64?.none, Int?.none, Int?.none, Int?.none)
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = timeOfDay(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = monthNumber(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if year < 70 { year += 2000 } else if year < 100 { year += 1900 }
        guard year >= 1601, let date = CalendarDate(year: year, month: month, day: day) else { return nil }
        return date.secondsSince1970 + time
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    /// Returns the number at the beginning of a token, up to the first byte that is not a digit.
    private static func number<Token: Collection<UInt8>>(_ token: Token, digits: ClosedRange<Int>) -> Int? {
        let leading = token.prefix(while: isDigit)
        return digits ~= leading.count ? leading.reduce(0) { $0 * 10 + Int($1 - 0x30) } : nil
    }

    private static func timeOfDay<Token: Collection<UInt8>>(_ token: Token) -> Int64? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts.prefix(2).allSatisfy({ $0.allSatisfy(isDigit) }),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2), hour < 24, minute < 60, second < 60
        else { return nil }
        return Int64((hour * 60 + minute) * 60 + second)
    }

    private static func monthNumber<Token: Collection<UInt8>>(_ token: Token) -> Int? {
        let name = token.prefix(3).map(HeaderSyntax.lowercased)
        return months.firstIndex { $0.utf8.elementsEqual(name) }.map { $0 + 1 }
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
}
