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
