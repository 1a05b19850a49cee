/// Decides which parts of output are secret and replaces them.
///
/// Descriptions, dumps, logs, metrics and spans all use it. HTTP fields and subprotocols are shown only if their names are known to be
/// public, because any other may carry a token. Message contents are shown, except values whose name indicates a secret, such as
/// `password`. Descriptions of a connection never contain text from the peer, because the peer may repeat a secret. Where such text is
/// shown, `KnownSecrets` removes the secrets.
package enum Secrecy {
    /// The text that replaces a secret.
    package static let hidden = "<hidden>"

    /// Returns the subprotocol name, or ``hidden`` if it is not well known, because it may then be a token.
    package static func subprotocol(_ name: String) -> String { publicSubprotocols.contains(name) ? name : hidden }

    /// Returns a URL or request target without its query and fragment; ``hidden`` if it contains user information.
    package static func reference(_ text: String) -> String {
        let place = text.prefix { $0 != "?" && $0 != "#" }
        guard !place.contains("@") else { return hidden }
        return place.endIndex == text.endIndex ? text : "\(place)?…"
    }

    /// Returns the value of an HTTP field, with secrets hidden.
    ///
    /// - Parameter name: The name of the field, in lower case.
    package static func value(_ value: String, of name: String) -> String {
        switch name {
        case "location", ":path": return reference(value)
        case "www-authenticate", "proxy-authenticate":
            // The text after the scheme may repeat data that the client sent.
            let scheme = value.prefix { $0 != " " && $0 != "\t" && $0 != "," }
            return scheme.endIndex == value.endIndex ? value : "\(scheme) …"
        default: return publicFields.contains(name) ? value : hidden
        }
    }

    /// Returns whether a name indicates a secret, such as `password` in JSON or `access_token` in a form.
    ///
    /// Case, `-`, `_` and `.` are ignored.
    package static func isSecret(_ name: some Sequence<UInt8>) -> Bool {
        var letters = ""
        for byte in name {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): letters.unicodeScalars.append(Unicode.Scalar(byte | 0x20))
            case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): continue
            default: letters.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return secretNames.contains(letters) || secretWords.contains { letters.contains($0) }
    }

    /// Returns the end of the first word in a name that makes the whole name secret, such as `token`; nil if there is none.
    static func endOfSecretWord(in name: ArraySlice<UInt8>) -> Int? {
        var letters: [UInt8] = []
        for (place, byte) in zip(name.indices, name) where !"-_.".utf8.contains(byte) {
            letters.append((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte)
            if secretWords.contains(where: { letters.suffix($0.utf8.count).elementsEqual($0.utf8) }) { return place + 1 }
        }
        return nil
    }

    /// Well-known subprotocol names: those of this package and others in wide use.
    ///
    /// Most are in IANA's registry of WebSocket subprotocol names.
    package static let publicSubprotocols: Set<String> = [
        "holdfast.rooms.v1.json", "holdfast.rooms.v1.protobuf", "holdfast.quotes.v1.json", "holdfast.quotes.v1.msgpack",
        "holdfast.quotes.v1.protobuf", "wamp", "wamp.2.json", "wamp.2.msgpack", "wamp.2.cbor", "wamp.2.ubjson", "amqp", "binary", "chat",
        "coap", "graphql-transport-ws", "graphql-ws", "json", "jsonrpc", "mqtt", "mqttv3.1", "msgpack", "ocpp1.6", "ocpp2.0", "ocpp2.0.1",
        "ocpp2.1", "sip", "soap", "stomp", "superchat", "v10.stomp", "v11.stomp", "v12.stomp", "v4.channel.k8s.io", "v5.channel.k8s.io",
        "xmpp",
    ]

    /// HTTP fields that carry no secret, in lower case: fields of requests, of responses, and fields that intermediaries add.
    private static let publicFields: Set<String> = [
        ":authority", ":method", ":protocol", ":scheme", ":status", "accept", "accept-encoding", "accept-language", "accept-ranges",
        "access-control-allow-credentials", "access-control-allow-headers", "access-control-allow-methods", "access-control-allow-origin",
        "access-control-expose-headers", "access-control-max-age", "age", "allow", "alt-svc", "cache-control", "cf-cache-status", "cf-ray",
        "connection", "content-encoding", "content-language", "content-length", "content-type", "date", "etag", "expect", "expires",
        "fly-request-id", "forwarded", "host", "http2-settings", "keep-alive", "last-modified", "max-forwards", "origin",
        "permissions-policy", "pragma", "proxy-connection", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "referrer-policy",
        "retry-after",
        "sec-websocket-accept", "sec-websocket-extensions", "sec-websocket-key", "sec-websocket-version", "server", "server-timing",
        "strict-transport-security", "te", "timing-allow-origin", "traceparent", "trailer", "transfer-encoding", "upgrade", "user-agent",
        "vary", "via", "warning", "x-amz-cf-id", "x-amz-cf-pop", "x-cache", "x-cache-hits", "x-content-type-options",
        "x-envoy-upstream-service-time", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto", "x-frame-options",
        "x-powered-by", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "x-real-ip", "x-request-id", "x-runtime",
        "x-served-by", "x-timer", "x-vercel-id", "x-xss-protection",
    ]

    /// Names in messages that indicate a secret, in the form that ``isSecret(_:)`` compares.
    private static let secretNames: Set<String> = [
        "apikey", "auth", "authextra", "bearer", "cred", "creds", "login", "pass", "pin", "pwd", "sessionid", "sid", "sig", "xapikey",
    ]
    /// Words that make any name that contains them a secret name.
    private static let secretWords = [
        "apikey", "authorization", "cookie", "credential", "jwt", "passcode", "passphrase", "passwd", "password", "privatekey", "secret",
        "signature", "ticket", "token",
    ]
}

/// Finds values in messages whose names indicate a secret.
extension Secrecy {
    /// Returns the ranges of secrets in a text, found by name: in JSON, forms, lines such as `Authorization: Bearer …`, and XML.
    ///
    /// A quoted value ends at its closing quote. If the value is an object, an array or an element, everything after its start is hidden.
    /// Any other value ends at the end of its line, or earlier where its container ends: at `&` in a form, or at a closing quote or brace.
    /// If the text was truncated inside a value, everything from the start of that value is hidden. In doubt, more is hidden.
    ///
    /// - Parameter bytes: UTF-8, or the beginning of a UTF-8 text.
    package static func announced(inText bytes: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var (place, prefix) = (0, 0..<0)
        while let name = nextName(in: bytes, from: place) {
            defer { prefix = name }
            place = name.upperBound
            guard announcesSecret(name, in: bytes) else { continue }
            if isOfElement(name, after: prefix, in: bytes) { return found + (place < bytes.count ? [place..<bytes.count] : []) }
            guard let (start, separator) = startOfValue(in: bytes, after: name) else { continue }
            let end = endOfValue(in: bytes, from: start, separator)
            if start < end { found.append(start..<end) }
            place = max(end, place)
        }
        return found
    }

    /// Returns the range that may hold secrets in a binary message: everything after the first name that indicates a secret.
    package static func announced(inBinary bytes: [UInt8]) -> [Range<Int>] {
        var place = 0
        while let name = nextName(in: bytes, from: place) {
            place = name.upperBound
            if let end = endOfSecretName(within: name, in: bytes) { return end < bytes.count ? [end..<bytes.count] : [] }
        }
        return []
    }

    /// Returns the text with values hidden whose names indicate a secret.
    package static func hidingAnnounced(_ text: String) -> String {
        let bytes = Array(text.utf8)
        return String(decoding: replacing(announced(inText: bytes), in: bytes), as: UTF8.self)
    }

    /// Returns the bytes with ``hidden`` in place of the ranges, which may overlap.
    package static func replacing(_ ranges: [Range<Int>], in bytes: [UInt8]) -> [UInt8] {
        var (shown, place): ([UInt8], Int) = ([], 0)
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where range.upperBound > place {
            if range.lowerBound > place || place == 0 { shown += bytes[place..<max(range.lowerBound, place)] + hidden.utf8 }
            place = range.upperBound
        }
        return shown + bytes[place...]
    }

    // MARK: - Names

    private static func nextName(in bytes: [UInt8], from place: Int) -> Range<Int>? {
        guard let start = bytes[place...].firstIndex(where: isOfName) else { return nil }
        return start..<(bytes[start...].firstIndex { !isOfName($0) } ?? bytes.endIndex)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static func announcesSecret(_ name: Range<Int>, in bytes: [UInt8]) -> Bool {
        let bare = withoutEscape(name, in: bytes)
        return isSecret(bytes[name]) || (bare != name && isSecret(bytes[bare]))
    }

    /// Returns where a secret name ends within a run of letters.
    ///
    /// The run may also hold lengths and values next to the name.
    private static func endOfSecretName(within letters: Range<Int>, in bytes: [UInt8]) -> Int? {
        let named = announcesSecret(letters, in: bytes) ? endOfSecretWord(in: bytes[letters]) ?? letters.upperBound : nil
        // CBOR, MessagePack and Protocol Buffers store the length of a short name in the low bits of the byte before it.
        let counted = letters.first { start in
            let count = start > 0 ? Int(bytes[start - 1] & 0x1F) : 0
            return 3...12 ~= count && start + count <= letters.upperBound && isSecret(bytes[start..<(start + count)])
        }
        return [named, counted.map { $0 + Int(bytes[$0 - 1] & 0x1F) }].compactMap(\.self).min()
    }

    /// Returns the name without the rest of an escape before it, such as the `n` of `\npin` or the `5B` of `%5Bpin`.
    private static func withoutEscape(_ name: Range<Int>, in bytes: [UInt8]) -> Range<Int> {
        guard name.lowerBound > 0 else { return name }
        let (_, end) = character(in: bytes, at: name.lowerBound - 1)
        let start = end == name.lowerBound && bytes[end - 1] == backslash ? end + 1 : end
        return min(start, name.upperBound)..<name.upperBound
    }

    /// Returns whether the name starts an XML element, with or without a namespace prefix.
    private static func isOfElement(_ name: Range<Int>, after prefix: Range<Int>, in bytes: [UInt8]) -> Bool {
        func follows(_ range: Range<Int>, _ byte: Unicode.Scalar) -> Bool {
            range.lowerBound > 0 && bytes[range.lowerBound - 1] == UInt8(ascii: byte)
        }
        return follows(name, "<") || (follows(name, ":") && prefix.upperBound == name.lowerBound - 1 && follows(prefix, "<"))
    }

    /// Returns the character at a position and the position of the next; decodes `%22` and `\u0022`, also if they are escaped again.
    private static func character(in bytes: [UInt8], at place: Int) -> (byte: UInt8, end: Int) {
        func number(_ digits: Range<Int>) -> UInt8? {
            guard digits.upperBound <= bytes.count, let high = Hexadecimal.value(of: bytes[digits.lowerBound]),
                let low = Hexadecimal.value(of: bytes[digits.lowerBound + 1])
            else { return nil }
            return high << 4 | low
        }
        var end = place + 1
        if bytes[place] == UInt8(ascii: "%") {
            while number(end..<(end + 2)) == UInt8(ascii: "%") { end += 2 }
            return number(end..<(end + 2)).map { ($0, end + 2) } ?? (bytes[place], place + 1)
        }
        if bytes[place] == backslash, end < bytes.count, bytes[end] == UInt8(ascii: "u"), number((end + 1)..<(end + 3)) == 0 {
            return number((end + 3)..<(end + 5)).map { ($0, end + 5) } ?? (bytes[place], end)
        }
        return (bytes[place], end)
    }

    // MARK: - Values

    /// Returns where the value of a name begins, and its separator, such as a colon or an equals sign; nil if there is no separator.
    private static func startOfValue(in bytes: [UInt8], after name: Range<Int>) -> (place: Int, separator: UInt8)? {
        var (place, separator): (Int, UInt8?) = (name.upperBound, nil)
        // `Bearer …`, in any container.
        if bytes[name].elementsEqual("Bearer".utf8) || bytes[name].elementsEqual("bearer".utf8),
            place < bytes.count, bytes[place] == UInt8(ascii: " ")
        {
            separator = bytes[place]
        }
        while place < bytes.count {
            let (byte, end) = character(in: bytes, at: place)
            if separators.contains(byte) {
                separator = separator ?? byte
            } else if !isBlank(byte), separator != nil || !closesName.contains(byte) {
                break
            }
            place = end
        }
        return separator.map { (place, $0) }
    }

    private static func endOfValue(in bytes: [UInt8], from start: Int, _ separator: UInt8) -> Int {
        let quote = bytes[start...].firstIndex { $0 != backslash } ?? bytes.count
        guard quote < bytes.count else { return bytes.count }
        if isQuote(bytes[quote]) { return endOfQuoted(in: bytes, from: quote, behind: quote - start) }
        if quote > start { return bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count }
        return opens.contains(bytes[start]) ? bytes.count : endOfPlain(in: bytes, from: start, separator)
    }

    /// Returns where a quoted value ends: after the next quote that has the same number of backslashes before it.
    ///
    /// Quotes with another number of backslashes are escaped. If the opening quote has backslashes, the value is in JSON inside a string.
    /// Each further pair of backslashes is a backslash at the end of the value. A quote in the middle of words does not end the value.
    private static func endOfQuoted(in bytes: [UInt8], from quote: Int, behind escapes: Int) -> Int {
        var (place, count) = (quote + 1, 0)
        while place < bytes.count {
            if bytes[place] == bytes[quote], count % (2 * escapes + 2) == escapes {
                guard escapes == 0, place + 1 < bytes.count, bytes[place + 1] == bytes[quote] else {
                    if isClosed(bytes, at: place + 1) { return place + 1 }
                    (place, count) = (place + 1, 0)
                    continue
                }
                // A doubled quote stands for one quote.
                place += 1
            }
            count = bytes[place] == backslash ? count + 1 : 0
            place += 1
        }
        return bytes.count
    }

    /// Returns where an unquoted value ends.
    ///
    /// Quoted parts inside it belong to it.
    private static func endOfPlain(in bytes: [UInt8], from start: Int, _ separator: UInt8) -> Int {
        var (place, escapes, before) = (start, 0, separator)
        while place < bytes.count {
            let byte = bytes[place]
            switch byte {
            case 0x0A, 0x0D:
                let next = byte == 0x0D && place + 1 < bytes.count && bytes[place + 1] == 0x0A ? place + 2 : place + 1
                // A line that begins with a blank continues the previous line.
                guard next < bytes.count, bytes[next] == UInt8(ascii: " ") || bytes[next] == UInt8(ascii: "\t") else { return place }
            case UInt8(ascii: "&") where separator == UInt8(ascii: "="): return place
            case UInt8(ascii: "}") where isClosed(bytes, at: place + 1): return place
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                if isBlank(before) || separators.contains(before) || beforeQuotes.contains(before) {
                    place = endOfQuoted(in: bytes, from: place, behind: escapes) - 1
                } else if isClosed(bytes, at: place + 1) {
                    return place - escapes
                }
            default: break
            }
            escapes = byte == backslash ? escapes + 1 : 0
            if byte != backslash { before = byte }
            place += 1
        }
        return bytes.count
    }

    /// Returns whether the byte at this position can follow the end of a value.
    private static func isClosed(_ bytes: [UInt8], at place: Int) -> Bool {
        place >= bytes.count || isBlank(bytes[place]) || isQuote(bytes[place]) || closers.contains(bytes[place])
    }

    private static let separators = Set(":=>".utf8)
    /// Characters that may stand between a name and its separator: quotes, their escapes, and the brackets of a form such as `user[pin]=1`.
    private static let closesName = Set("\"'\\])+".utf8)
    private static let opens = Set("{[(".utf8)
    private static let beforeQuotes = Set(",;([{".utf8)
    private static let closers = Set(",&)]}<>/\\".utf8)
    private static let backslash = UInt8(ascii: "\\")

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte) }
}
