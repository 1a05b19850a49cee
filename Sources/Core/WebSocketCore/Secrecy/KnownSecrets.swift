import MachineCore

/// The secrets of a session, such as tokens and passwords: finds them anywhere in a text, in various encodings.
///
/// A secret is found in plain form, percent-encoded, in Base64 (also inside a longer text), and with JSON escapes. If a text ends with what
/// may be the beginning of a secret, that is hidden too, because the text may have been truncated.
package struct KnownSecrets: Sendable {
    /// Sorted by length, longest first, so that no part of a longer secret remains visible.
    private var spellings: [[UInt8]] = []
    /// The minimum number of bytes at the end of a text that count as the beginning of a secret.
    private static let least = 3

    /// Creates an empty list.
    package init() {}

    /// Creates a list of these secrets.
    package init(_ secrets: some Sequence<String>) { for secret in secrets { insert(secret) } }

    /// Whether the list is empty.
    package var isEmpty: Bool { spellings.isEmpty }
    /// The length of the longest encoded form.
    package var longest: Int { spellings.first?.count ?? 0 }

    /// Adds a secret.
    ///
    /// An empty text is ignored.
    package mutating func insert(_ secret: String) {
        let bytes = Array(secret.utf8)
        guard !bytes.isEmpty else { return }
        let encoded = [true, false].map { PercentEncoding.encode(bytes, uppercase: $0, except: PercentEncoding.isUnreserved) }
        let all = [bytes] + encoded + Self.inBase64(bytes) + Self.escaped(bytes)
        for spelling in all where !spellings.contains(spelling) { spellings.append(spelling) }
        spellings.sort { $0.count > $1.count }
    }

    /// Returns the ranges of the secrets in the bytes.
    ///
    /// The ranges may overlap.
    package func ranges(in bytes: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        for spelling in spellings {
            var place = 0
            while let start = Self.find(spelling, in: bytes, from: place) {
                found.append(start..<min(start + spelling.count, bytes.count))
                place = start + spelling.count
                if place > bytes.count { break }
            }
        }
        return found
    }

    /// Returns the text without the secrets.
    package func hiding(_ text: String) -> String {
        guard !isEmpty else { return text }
        let bytes = Array(text.utf8)
        let ranges = ranges(in: bytes)
        return ranges.isEmpty ? text : String(decoding: Secrecy.replacing(ranges, in: bytes), as: UTF8.self)
    }

    /// Returns where the encoded form begins, complete or truncated by the end.
    private static func find(_ spelling: [UInt8], in bytes: [UInt8], from place: Int) -> Int? {
        guard place < bytes.count else { return nil }
        for start in place..<bytes.count where bytes[start] == spelling[0] {
            let length = min(spelling.count, bytes.count - start)
            guard length >= min(least, spelling.count) else { return nil }
            if bytes[start..<(start + length)] == spelling[..<length] { return start }
        }
        return nil
    }

    // MARK: - Spellings

    /// Returns the Base64 forms of a text at each of the three alignments, without the digits that depend on neighbouring bytes.
    private static func inBase64(_ bytes: [UInt8]) -> [[UInt8]] {
        var all: [[UInt8]] = []
        for lead in 0..<3 {
            let text = Base64.digits([UInt8](repeating: 0, count: lead) + bytes)
            let (start, end) = ((lead * 8 + 5) / 6, (lead + bytes.count) * 8 / 6)
            guard end - start >= 6 else { continue }
            let digits = Array(text[start..<end])
            all.append(digits)
            all.append(digits.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 })
        }
        return all
    }

    private static func escaped(_ bytes: [UInt8]) -> [[UInt8]] {
        func escaping(_ special: some Sequence<UInt8>) -> [UInt8] {
            bytes.flatMap { special.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
        }
        return [escaping(#""\"#.utf8), escaping(#""\/"#.utf8)]
    }
}

/// Finds the secrets in a connection request.
extension KnownSecrets {
    /// The minimum length of a text without a secret name to count as a secret.
    ///
    /// Shorter texts occur everywhere.
    private static let leastLength = 8

    /// Returns the parts of a request that may be secret: query values, fields that are not public, cookies, subprotocols, passwords.
    package static func carried(
        by url: WebSocketURL?, _ headers: HeaderFields, _ subprotocols: [String], _ proxy: Proxy? = nil
    ) -> [String] {
        var texts: [String] = []
        for item in (url?.target.drop { $0 != "?" }.dropFirst() ?? "").split(separator: "&") { texts += pair(item) }
        for field in headers where field.shownValue != field.value {
            switch HeaderSyntax.lowercased(field.name) {
            case "cookie": for cookie in field.value.split(separator: ";") { texts += pair(cookie) }
            case "authorization": texts += parts(ofAuthorization: field.value)
            default: if isTelling(field.name, field.value) { texts.append(field.value) }
            }
        }
        for name in subprotocols where Secrecy.subprotocol(name) != name { texts += parts(ofSubprotocol: name) }
        if let login = proxy?.login { texts += [login.password, "\(login.user):\(login.password)"] }
        return texts.filter { !$0.isEmpty }
    }

    /// Returns the parts of a credential.
    ///
    /// For a name with a password, these include the password alone.
    package static func parts(of secret: String) -> [String] {
        guard let colon = secret.firstIndex(of: ":") else { return [secret] }
        return [secret, String(secret[secret.index(after: colon)...])]
    }

    /// Returns the whole name, and the part after the first dot, because `bearer.…` is a common form.
    private static func parts(ofSubprotocol name: String) -> [String] {
        let token = name.drop { $0 != "." }.dropFirst()
        return isTelling("", token) ? [name, String(token)] : [name]
    }

    private static func parts(ofAuthorization value: String) -> [String] {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return [value] }
        let secret = String(parts[1])
        guard HeaderSyntax.isEqual(String(parts[0]), "Basic"), let login = Base64.bytes(of: secret.utf8, isCanonical: false) else {
            return [secret]
        }
        return [secret] + self.parts(of: String(decoding: login, as: UTF8.self))
    }

    /// Returns the value of `name=value` as written and percent-decoded.
    private static func pair(_ text: Substring) -> [String] {
        guard let sign = text.firstIndex(of: "=") else { return isTelling("", text) ? [String(text)] : [] }
        let value = text[text.index(after: sign)...]
        // Cookies are separated by a blank.
        guard isTelling(text[..<sign].drop { $0 == " " }, value) else { return [] }
        return [String(value)] + (PercentEncoding.decode(value).map { [$0] } ?? [])
    }

    private static func isTelling(_ name: some StringProtocol, _ value: some StringProtocol) -> Bool {
        value.utf8.count >= leastLength || Secrecy.isSecret(name.utf8)
    }
}

/// Errors that quote a peer, which may have repeated a secret.
extension HandshakeFailure {
    /// Returns the error without the secrets.
    package func hiding(_ secrets: KnownSecrets) -> HandshakeFailure { HandshakeFailure(kind, secrets.hiding(detail)) }
}

extension ProxyFailure {
    /// Returns the error without the secrets.
    package func hiding(_ secrets: KnownSecrets) -> ProxyFailure {
        ProxyFailure(kind, secrets.hiding(description), response: response)
    }
}

extension RedirectProblem {
    /// Returns the error without the secrets.
    package func hiding(_ secrets: KnownSecrets) -> RedirectProblem { RedirectProblem(code, secrets.hiding(description)) }
}

extension URLProblem {
    /// Returns the error without the secrets.
    package func hiding(_ secrets: KnownSecrets) -> URLProblem { URLProblem(code, secrets.hiding(description)) }
}

/// The beginning of a message for display: one line of limited length, without secrets.
package struct MessageExcerpt: Sendable {
    /// The beginning: text in quotes with escaped control characters, or bytes in hexadecimal.
    ///
    /// Ends with ` …` if there is more.
    package let start: String

    /// How many bytes beyond the end are searched for a secret that begins before it.
    private static let margin = 256

    /// Creates the beginning of a message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - limit: The maximum number of bytes shown.
    ///   - secrets: Secrets to hide anywhere, in addition to values with a secret name.
    package init(of message: Message, limit: Int, hiding secrets: KnownSecrets = KnownSecrets()) {
        let length = limit + max(Self.margin, secrets.longest)
        switch message {
        case .text(let text): self.init(.text, Array(text.utf8.prefix(length)), limit, text.utf8.count, secrets)
        case .binary(let bytes): self.init(.binary, Array(bytes.prefix(length)), limit, bytes.count, secrets)
        }
    }

    private init(_ kind: MessageKind, _ bytes: [UInt8], _ limit: Int, _ count: Int, _ secrets: KnownSecrets) {
        let named = kind == .text ? Secrecy.announced(inText: bytes) : Secrecy.announced(inBinary: bytes)
        let ranges = (named + secrets.ranges(in: bytes)).sorted { $0.lowerBound < $1.lowerBound }
        let end = kind == .text ? Self.border(bytes, limit) : min(limit, bytes.count)
        var (pieces, place): ([String], Int) = ([], 0)
        for range in ranges where range.upperBound > place && range.lowerBound < end {
            if range.lowerBound > place { pieces.append(Self.shown(kind, bytes[place..<range.lowerBound])) }
            // One marker for ranges that overlap or touch.
            if pieces.last != Secrecy.hidden { pieces.append(Secrecy.hidden) }
            place = range.upperBound
        }
        if place < end { pieces.append(Self.shown(kind, bytes[place..<end])) }
        let words = kind == .text ? "\"\(pieces.joined())\"" : pieces.joined(separator: " ")
        start = words + (count > max(place, end) ? " …" : "")
    }

    /// Returns the last character boundary up to the limit.
    private static func border(_ bytes: [UInt8], _ limit: Int) -> Int {
        guard bytes.count > limit else { return bytes.count }
        var end = limit
        while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return end
    }

    private static func shown(_ kind: MessageKind, _ bytes: ArraySlice<UInt8>) -> String {
        guard kind == .binary else {
            var words = ""
            for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars { words += scalar.escapedInLine }
            return words
        }
        return Hexadecimal.text(bytes, separator: " ")
    }
}

extension Unicode.Scalar {
    /// The scalar, escaped if it could end the text or the line, or control a terminal.
    fileprivate var escapedInLine: String {
        switch self {
        case "\"", "\\": "\\\(self)"
        default:
            properties.generalCategory == .control || properties.generalCategory == .format ? "\\u{\(String(value, radix: 16))}" : "\(self)"
        }
    }
}
