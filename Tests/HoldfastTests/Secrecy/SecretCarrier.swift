import Foundation
import Holdfast
import Testing
import WebSocketCore

/// A server where a client puts a secret.
enum SecretCarrier: String, CaseIterable, Sendable, CustomTestStringConvertible {
    // Placements of a credential from a provider.
    case bearer, basic, credentialHeader, credentialQuery, credentialCookie, credentialSubprotocol
    // Values in the options.
    case header, authorization, query, alternative, cookieField, cookieStore, subprotocol, proxyPassword
    /// The first message of the app, as in `graphql-transport-ws`.
    case connectionInit

    var testDescription: String { rawValue }

    /// The first message of the app.
    func login(_ secret: String) -> Message {
        guard self == .connectionInit else { return .text("hello") }
        return .text(#"{"type":"connection_init","payload":{"authToken":"\#(secret)"}}"#)
    }

    /// The same message in MessagePack.
    func login(inBytes secret: String) -> Message {
        guard self == .connectionInit else { return .binary([1, 2, 3]) }
        return .binary([0x81, 0xA8] + "password".utf8 + [0xA0 | UInt8(secret.utf8.count)] + secret.utf8)
    }

    /// Puts the secret into its server; returns the URL.
    func prepare(_ options: inout WebSocketOptions, _ secret: String, at url: String) throws -> String {
        func provider(_ placement: CredentialPlacement) { options.credentials = CredentialProvider(placement) { Credential(secret) } }
        let server = try WebSocketURL(url)
        let encoded = secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? secret
        switch self {
        case .bearer: provider(.bearer)
        case .basic: options.credentials = .basic { (user: "tim", password: secret) }
        case .credentialHeader: provider(.header("X-Who"))
        case .credentialQuery: provider(.query("t"))
        case .credentialCookie: provider(.cookie("c"))
        case .credentialSubprotocol: provider(.subprotocol(prefix: "auth."))
        case .header: options.headers["X-Who"] = secret
        case .authorization: options.headers["Authorization"] = "Bearer \(secret)"
        case .query: return "\(url)feed?user=tim&t=\(encoded)"
        case .alternative: options.alternatives = ["\(url)feed?t=\(encoded)"]
        case .cookieField: options.headers["Cookie"] = "a=b; c=\(secret)"
        case .cookieStore:
            let cookie = Cookie(name: "c", value: secret, host: server.host, isSecure: false)
            options.connection.cookies = CookieStore(CookieJar(cookie.map { [$0] } ?? []))
        case .subprotocol: options.subprotocols = ["chat", "auth.\(secret)"]
        case .proxyPassword:
            options.connection.proxy = .through(try Proxy("http://me:\(encoded)@\(server.host):\(server.port)"))
            return "ws://server.example:81/feed"
        case .connectionInit: break
        }
        return url
    }
}
