/// The one place that knows what is secret in what is said, and what people see in its place.
///
/// Descriptions, dumps, logs, metrics and spans ask here. A field of HTTP and a subprotocol are shown if their names are known to be
/// public, for any other may carry a token. What messages carry is shown, except what a name such as `password` announces. The words of a
/// peer are in no description of a connection, for it may repeat what it was told; where they are shown, `KnownSecrets` are taken out.
package enum Secrecy {
    /// What is shown in place of a secret.
    package static let hidden = "<hidden>"

    /// A subprotocol: one that is not well known may be a token.
    package static func subprotocol(_ name: String) -> String { publicSubprotocols.contains(name) ? name : hidden }

    /// A URL, or the target of a request, without what stands before its host and after its path.
    package static func reference(_ text: String) -> String {
        let place = text.prefix { $0 != "?" && $0 != "#" }
        guard !place.contains("@") else { return hidden }
        return place.endIndex == text.endIndex ? text : "\(place)?…"
    }

    /// The value of a field of HTTP.
    ///
    /// - Parameter name: Its name, in lower case.
    package static func value(_ value: String, of name: String) -> String {
        switch name {
        case "location", ":path": return reference(value)
        case "www-authenticate", "proxy-authenticate":
            // What follows the scheme may repeat what the client had shown.
            let scheme = value.prefix { $0 != " " && $0 != "\t" && $0 != "," }
            return scheme.endIndex == value.endIndex ? value : "\(scheme) …"
        default: return publicFields.contains(name) ? value : hidden
        }
    }

    /// Whether a name announces a secret, such as `password` in JSON or `access_token` in a form.
    ///
    /// Its case and its `-`, `_` and `.` do not count.
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

    /// Where the first word ends, in a name, that makes any a name that announces a secret.
    static func endOfSecretWord(in name: ArraySlice<UInt8>) -> Int? {
        var letters: [UInt8] = []
        for (place, byte) in zip(name.indices, name) where !"-_.".utf8.contains(byte) {
            letters.append((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte)
            if secretWords.contains(where: { letters.suffix($0.utf8.count).elementsEqual($0.utf8) }) { return place + 1 }
        }
        return nil
    }

    /// Names of subprotocols that everybody knows: those of this package, and of others that are in wide use.
    ///
    /// Most are in IANA's registry of WebSocket subprotocol names.
    package static let publicSubprotocols: Set<String> = [
        "holdfast.rooms.v1.json", "holdfast.rooms.v1.protobuf", "holdfast.quotes.v1.json", "holdfast.quotes.v1.msgpack",
        "holdfast.quotes.v1.protobuf", "wamp", "wamp.2.json", "wamp.2.msgpack", "wamp.2.cbor", "wamp.2.ubjson", "amqp", "binary", "chat",
        "coap", "graphql-transport-ws", "graphql-ws", "json", "jsonrpc", "mqtt", "mqttv3.1", "msgpack", "ocpp1.6", "ocpp2.0", "ocpp2.0.1",
        "ocpp2.1", "sip", "soap", "stomp", "superchat", "v10.stomp", "v11.stomp", "v12.stomp", "v4.channel.k8s.io", "v5.channel.k8s.io",
        "xmpp",
    ]

    /// Fields of HTTP that tell no secret, in lower case: of requests, of responses, and of what stands between.
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

    /// Names in messages that announce a secret, as ``isSecret(_:)`` reads them.
    private static let secretNames: Set<String> = [
        "apikey", "auth", "authextra", "bearer", "cred", "creds", "login", "pass", "pin", "pwd", "sessionid", "sid", "sig", "xapikey",
    ]
    /// What makes any longer name one that does.
    private static let secretWords = [
        "apikey", "authorization", "cookie", "credential", "jwt", "passcode", "passphrase", "passwd", "password", "privatekey", "secret",
        "signature", "ticket", "token",
    ]
}

/// What names announce in messages.
extension Secrecy {
    /// Where secrets lie in a text, by the names that announce them: in JSON, in forms, in lines such as `Authorization: Bearer …`, in XML.
    ///
    /// A value in quotes ends with them. A value that is an object, an array or an element is hidden with all that follows. Any other ends
    /// with its line, and before that where what holds it ends: at a `&` in a form, at a quote or a brace that closes. A text that was cut
    /// is hidden from a value without its end on. In doubt, more is hidden.
    ///
    /// - Parameter bytes: UTF-8, or the beginning of it.
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

    /// Where secrets may lie in a message of bytes: behind the first name that announces one.
    package static func announced(inBinary bytes: [UInt8]) -> [Range<Int>] {
        var place = 0
        while let name = nextName(in: bytes, from: place) {
            place = name.upperBound
            if let end = endOfSecretName(within: name, in: bytes) { return end < bytes.count ? [end..<bytes.count] : [] }
        }
        return []
    }

    /// A text in which what names announce is hidden.
    package static func hidingAnnounced(_ text: String) -> String {
        let bytes = Array(text.utf8)
        return String(decoding: replacing(announced(inText: bytes), in: bytes), as: UTF8.self)
    }

    /// The bytes with ``hidden`` in place of what lies in the ranges, which may overlap.
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

    /// Where a name ends that announces a secret, within what may be more than a name: lengths and values beside it may be letters, too.
    private static func endOfSecretName(within letters: Range<Int>, in bytes: [UInt8]) -> Int? {
        let named = announcesSecret(letters, in: bytes) ? endOfSecretWord(in: bytes[letters]) ?? letters.upperBound : nil
        // CBOR, MessagePack and Protocol Buffers have the length of a short name in the low bits of the byte before it.
        let counted = letters.first { start in
            let count = start > 0 ? Int(bytes[start - 1] & 0x1F) : 0
            return 3...12 ~= count && start + count <= letters.upperBound && isSecret(bytes[start..<(start + count)])
        }
        return [named, counted.map { $0 + Int(bytes[$0 - 1] & 0x1F) }].compactMap(\.self).min()
    }

    /// A name without what belongs to an escape before it, such as the `n` of `\npin` or the `5B` of `%5Bpin`.
    private static func withoutEscape(_ name: Range<Int>, in bytes: [UInt8]) -> Range<Int> {
        guard name.lowerBound > 0 else { return name }
        let (_, end) = character(in: bytes, at: name.lowerBound - 1)
        let start = end == name.lowerBound && bytes[end - 1] == backslash ? end + 1 : end
        return min(start, name.upperBound)..<name.upperBound
    }

    /// Whether an element of XML begins with a name, with or without the prefix of a namespace.
    private static func isOfElement(_ name: Range<Int>, after prefix: Range<Int>, in bytes: [UInt8]) -> Bool {
        func follows(_ range: Range<Int>, _ byte: Unicode.Scalar) -> Bool {
            range.lowerBound > 0 && bytes[range.lowerBound - 1] == UInt8(ascii: byte)
        }
        return follows(name, "<") || (follows(name, ":") && prefix.upperBound == name.lowerBound - 1 && follows(prefix, "<"))
    }

    /// The character at a place, and where the next is: `%22` and `\u0022` are read as what they stand for, also if escaped again.
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

    /// Where the value begins that a name announces, and behind what, such as a colon or an equals sign; nil: it announces none.
    private static func startOfValue(in bytes: [UInt8], after name: Range<Int>) -> (place: Int, separator: UInt8)? {
        var (place, separator): (Int, UInt8?) = (name.upperBound, nil)
        // `Bearer …`, whatever holds it.
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

    /// Where a value in quotes ends: behind the next of them that stands behind as many backslashes, for those of others are escaped.
    ///
    /// With backslashes it is in JSON that is itself in a string; each pair more is one that the value ends with. A quote in the midst of
    /// words is none that ends it.
    private static func endOfQuoted(in bytes: [UInt8], from quote: Int, behind escapes: Int) -> Int {
        var (place, count) = (quote + 1, 0)
        while place < bytes.count {
            if bytes[place] == bytes[quote], count % (2 * escapes + 2) == escapes {
                guard escapes == 0, place + 1 < bytes.count, bytes[place + 1] == bytes[quote] else {
                    if isClosed(bytes, at: place + 1) { return place + 1 }
                    (place, count) = (place + 1, 0)
                    continue
                }
                // Two of them stand for one.
                place += 1
            }
            count = bytes[place] == backslash ? count + 1 : 0
            place += 1
        }
        return bytes.count
    }

    /// Where a value without quotes ends; what is in quotes within it belongs to it.
    private static func endOfPlain(in bytes: [UInt8], from start: Int, _ separator: UInt8) -> Int {
        var (place, escapes, before) = (start, 0, separator)
        while place < bytes.count {
            let byte = bytes[place]
            switch byte {
            case 0x0A, 0x0D:
                let next = byte == 0x0D && place + 1 < bytes.count && bytes[place + 1] == 0x0A ? place + 2 : place + 1
                // A line that begins with a blank goes on with the one before.
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

    /// Whether what stands at a place can follow the end of a value.
    private static func isClosed(_ bytes: [UInt8], at place: Int) -> Bool {
        place >= bytes.count || isBlank(bytes[place]) || isQuote(bytes[place]) || closers.contains(bytes[place])
    }

    private static let separators = Set(":=>".utf8)
    /// What may stand between a name and its separator: quotes, their escapes, and what holds it in a form such as `user[pin]=1`.
    private static let closesName = Set("\"'\\])+".utf8)
    private static let opens = Set("{[(".utf8)
    private static let beforeQuotes = Set(",;([{".utf8)
    private static let closers = Set(",&)]}<>/\\".utf8)
    private static let backslash = UInt8(ascii: "\\")

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte) }
}
