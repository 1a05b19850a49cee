import Foundation
import JWTKit
public import Logging
public import RoomCore
import WebSocketCore

/// Reads JSON Web Tokens, signed with one of its keys.
///
/// The claims: `sub` is the user, `exp` its end, `nbf` its beginning, `iss` and `aud` as ``TokenRules`` ask, and `rooms` what may be done
/// where: `{"team-*": "rwp", "lobby": "r"}`, see `Grant` and `RoomRights`. What no grant covers is not allowed.
public struct TokenVerifier: HubAuthority {
    /// More keys than this are not tried for one token.
    private static let mostTried = 8

    private let keys: any TokenKeySource
    private let rules: TokenRules
    private let now: @Sendable () -> Double

    /// A verifier with these keys.
    public init(keys: [TokenKey], rules: TokenRules = TokenRules()) {
        self.init(source: FixedTokenKeys(keys: keys), rules: rules, now: { Date().timeIntervalSince1970 })
    }

    /// A file with keys.
    public enum KeyFile: Hashable, Sendable {
        /// A secret for HS256; a line break at its end does not count.
        case secret(String)
        /// A public key as PEM.
        case pem(String)
        /// A JSON Web Key Set.
        case set(String)
    }

    /// A verifier with keys in files, which are read again when they change.
    ///
    /// A file that has become nonsense changes nothing: the keys that were there stay, and `logger` is told.
    ///
    /// - Throws: ``HubError/key(_:)`` if a file cannot be read now.
    public init(files: [KeyFile], rules: TokenRules = TokenRules(), logger: Logger) async throws(HubError) {
        var sources: [WatchedKeys] = []
        for file in files {
            switch file {
            case .secret(let path):
                sources.append(
                    try await WatchedKeys(path, logger: logger) { bytes throws(HubError) in
                        let end = bytes.last == 0x0A ? bytes.dropLast(bytes.suffix(2).first == 0x0D ? 2 : 1) : bytes[...]
                        return [try await .secret(Array(end))]
                    })
            case .pem(let path):
                sources.append(
                    try await WatchedKeys(path, logger: logger) { bytes throws(HubError) in
                        if let mistake = PEM.mistake(in: Array(bytes)) { throw .key(mistake) }
                        return [try await .pem(String(decoding: bytes, as: UTF8.self))]
                    })
            case .set(let path):
                sources.append(try await WatchedKeys(path, logger: logger) { bytes throws(HubError) in try await TokenKey.set(bytes) })
            }
        }
        self.init(source: SeveralKeys(sources: sources), rules: rules, now: { Date().timeIntervalSince1970 })
    }

    /// A verifier with keys that may change; `now` is in seconds since 1970 UTC.
    init(source: any TokenKeySource, rules: TokenRules, now: @escaping @Sendable () -> Double) {
        (keys, self.rules, self.now) = (source, rules, now)
    }

    /// Who the token speaks of, if its signature and its claims hold.
    public func identify(_ token: String?, isLocal: Bool) async throws(TokenRefusal) -> Identity {
        guard let token, !token.isEmpty else { throw TokenRefusal(.missing, "there is no token") }
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.decoded(parts[0]), let payload = Self.decoded(parts[1]),
            let signature = Self.decoded(parts[2]), let head = try? JSONDecoder().decode(Head.self, from: header)
        else {
            throw TokenRefusal(.malformed, "not a JSON Web Token")
        }
        // RFC 7515 §4.1.11: what has to be understood and is not.
        guard head.crit == nil else { throw TokenRefusal(.algorithm, "the token asks for extensions") }
        guard let algorithm = TokenKey.Algorithm(rawValue: head.alg) else {
            throw TokenRefusal(.algorithm, "the token's algorithm is not taken")
        }
        let signed = Data(token.utf8.prefix(parts[0].count + 1 + parts[1].count))
        try await check(signature, of: signed, algorithm, head.kid)
        guard let claims = try? JSONDecoder().decode(TokenClaims.self, from: payload) else {
            throw TokenRefusal(.claims, "the token's claims make no sense")
        }
        return try claims.identity(rules, at: now())
    }

    private func check(_ signature: Data, of signed: Data, _ algorithm: TokenKey.Algorithm, _ id: String?) async throws(TokenRefusal) {
        let fit = await keys.keys.filter { $0.algorithm == algorithm }
        let named = fit.filter { $0.id != nil && $0.id == id }
        // A token that names a key which nobody knows is not tried with those that have other names.
        let candidates = named.isEmpty ? fit.filter { id == nil || $0.id == nil } : named
        guard !candidates.isEmpty else { throw TokenRefusal(.algorithm, "no key is known for the token's algorithm and key") }
        for key in candidates.prefix(Self.mostTried) where (try? key.signer.verify(signature, signs: signed)) == true { return }
        throw TokenRefusal(.signature, "the token's signature is not of a known key")
    }

    private struct Head: Decodable {
        let alg: String
        let kid: String?
        let crit: [String]?
    }

    /// Base64 in the alphabet of URLs, without padding (RFC 7515 §2).
    private static func decoded(_ part: Substring.UTF8View) -> Data? {
        var text = ""
        for byte in part {
            switch byte {
            case UInt8(ascii: "-"): text += "+"
            case UInt8(ascii: "_"): text += "/"
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                text.unicodeScalars.append(UnicodeScalar(byte))
            default: return nil
            }
        }
        return Data(base64Encoded: text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
    }
}

/// Where a verifier's keys come from.
protocol TokenKeySource: Sendable {
    var keys: [TokenKey] { get async }
}

/// Keys of several sources, in their order.
struct SeveralKeys: TokenKeySource {
    let sources: [WatchedKeys]

    var keys: [TokenKey] {
        get async {
            var all: [TokenKey] = []
            for source in sources { all += await source.keys }
            return all
        }
    }
}

/// Keys that stay as they are.
struct FixedTokenKeys: TokenKeySource {
    let keys: [TokenKey]
}

/// What a token says, as it is read from JSON.
struct TokenClaims: Decodable {
    var sub: String?
    var exp: Double?
    var nbf: Double?
    var iat: Double?
    var iss: String?
    var aud: Audience?
    var rooms: [String: String]?

    /// No time of a token is further ahead, in seconds: ten years.
    ///
    /// What is further ahead was written in milliseconds.
    private static let furthest: Double = 10 * 365.25 * 86_400

    /// One name or a list of them (RFC 7519 §4.1.3).
    struct Audience: Decodable {
        let names: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            names = try (try? container.decode(String.self)).map { [$0] } ?? container.decode([String].self)
        }
    }

    /// Who it speaks of, if all its claims hold at this time, in seconds since 1970 UTC.
    func identity(_ rules: TokenRules, at now: Double) throws(TokenRefusal) -> Identity {
        guard let user = sub.flatMap(UserName.init) else {
            throw TokenRefusal(.claims, "the token has no `sub` of 1 to 128 bytes")
        }
        if let hidden = user.hidden, !rules.allowsHiddenCharacters {
            throw TokenRefusal(.claims, "the token's `sub` holds a character that nobody sees (\(hidden)): it could pass for another user")
        }
        for (name, time) in [("exp", exp), ("nbf", nbf), ("iat", iat)] where time.map({ !($0 <= now + Self.furthest) }) ?? false {
            throw TokenRefusal(.claims, "the token's `\(name)` is more than ten years ahead: in milliseconds? It is in seconds (RFC 7519)")
        }
        let leeway = Double(rules.leeway.components.seconds)
        if exp == nil, rules.requiresExpiry { throw TokenRefusal(.claims, "the token has no `exp`") }
        if let exp, now >= exp + leeway { throw TokenRefusal(.expired, "the token has expired") }
        if let nbf, now < nbf - leeway { throw TokenRefusal(.early, "the token is not valid yet") }
        if let issuer = rules.issuer, iss != issuer { throw TokenRefusal(.foreign, "the token is of another issuer") }
        if let audience = rules.audience, aud?.names.contains(audience) != true {
            throw TokenRefusal(.foreign, "the token is for another audience")
        }
        let grants = (rooms ?? [:]).sorted { $0.key < $1.key }.map { Grant($0.key, RoomRights(letters: $0.value)) }
        let expires = exp.map { Int64(($0 + leeway) * 1000) }
        return Identity(user: user, grants: grants, expires: expires)
    }
}

/// What is asked of a token beside its signature.
public struct TokenRules: Hashable, Sendable {
    /// What `iss` has to be; nil: anything.
    public var issuer: String?
    /// What `aud` has to be or to hold; nil: anything.
    public var audience: String?
    /// How far the clocks of who issues tokens and of this machine may be apart; whole seconds.
    public var leeway: Duration = .seconds(30)
    /// Whether a token without `exp` is refused.
    public var requiresExpiry = true

    /// Whether `sub` may hold characters that nobody sees: directions, characters without a width, tags.
    ///
    /// With them one user can look like another. Some scripts and emoji need them within words.
    public var allowsHiddenCharacters = false

    /// Any issuer and audience, half a minute of leeway, and an end.
    public init() {}
}
