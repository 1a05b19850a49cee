import Foundation
import JWTKit
public import Logging
public import RoomCore
import WebSocketCore

/// Verifies JSON Web Tokens with its keys.
///
/// It reads these claims: `sub` is the user, `exp` the time of expiry, `nbf` the start of validity, and `iss` and `aud` must match
/// ``TokenRules``. `rooms` holds the grants, such as `{"team-*": "rwp", "lobby": "r"}`; see `Grant` and `RoomRights`. Anything that no
/// grant covers is forbidden.
public struct TokenVerifier: HubAuthority {
    /// The maximum number of keys tried for one token.
    private static let mostTried = 8

    private let keys: any TokenKeySource
    private let rules: TokenRules
    private let now: @Sendable () -> Double

    /// Creates a verifier with these keys.
    public init(keys: [TokenKey], rules: TokenRules = TokenRules()) {
        self.init(source: FixedTokenKeys(keys: keys), rules: rules, now: { Date().timeIntervalSince1970 })
    }

    /// A file with keys.
    public enum KeyFile: Hashable, Sendable {
        /// A secret for HS256; a line break at the end of the file is ignored.
        case secret(String)
        /// A public key as PEM.
        case pem(String)
        /// A JSON Web Key Set.
        case set(String)
    }

    /// Creates a verifier with keys in files, which are read again when they change.
    ///
    /// If a changed file is invalid, the previous keys stay in use and `logger` gets an error.
    ///
    /// - Throws: ``HubError/key(_:)`` if a file cannot be read at the start.
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

    /// Creates a verifier with keys that may change; `now` returns seconds since 1970 UTC.
    init(source: any TokenKeySource, rules: TokenRules, now: @escaping @Sendable () -> Double) {
        (keys, self.rules, self.now) = (source, rules, now)
    }

    /// Returns the identity in a token, if its signature and its claims are valid.
    public func identify(_ token: String?, isLocal: Bool) async throws(TokenRefusal) -> Identity {
        guard let token, !token.isEmpty else { throw TokenRefusal(.missing, "there is no token") }
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.decoded(parts[0]), let payload = Self.decoded(parts[1]),
            let signature = Self.decoded(parts[2]), let head = try? JSONDecoder().decode(Head.self, from: header)
        else {
            throw TokenRefusal(.malformed, "not a JSON Web Token")
        }
        // RFC 7515 §4.1.11: a token with critical extensions that are not understood is invalid.
        guard head.crit == nil else { throw TokenRefusal(.algorithm, "the token requires extensions that are not supported") }
        guard let algorithm = TokenKey.Algorithm(rawValue: head.alg) else {
            throw TokenRefusal(.algorithm, "the token's algorithm is not accepted")
        }
        let signed = Data(token.utf8.prefix(parts[0].count + 1 + parts[1].count))
        try await check(signature, of: signed, algorithm, head.kid)
        guard let claims = try? JSONDecoder().decode(TokenClaims.self, from: payload) else {
            throw TokenRefusal(.claims, "the token's claims are invalid")
        }
        return try claims.identity(rules, at: now())
    }

    private func check(_ signature: Data, of signed: Data, _ algorithm: TokenKey.Algorithm, _ id: String?) async throws(TokenRefusal) {
        let fit = await keys.keys.filter { $0.algorithm == algorithm }
        let named = fit.filter { $0.id != nil && $0.id == id }
        // If a token names an unknown key, keys with other names are not tried.
        let candidates = named.isEmpty ? fit.filter { id == nil || $0.id == nil } : named
        guard !candidates.isEmpty else { throw TokenRefusal(.algorithm, "there is no key for the token's algorithm and key ID") }
        for key in candidates.prefix(Self.mostTried) where (try? key.signer.verify(signature, signs: signed)) == true { return }
        throw TokenRefusal(.signature, "the token's signature does not match a known key")
    }

    private struct Head: Decodable {
        let alg: String
        let kid: String?
        let crit: [String]?
    }

    /// Decodes Base64 in the URL alphabet, without padding (RFC 7515 §2).
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

/// The source of a verifier's keys.
protocol TokenKeySource: Sendable {
    var keys: [TokenKey] { get async }
}

/// The keys of several sources, in their order.
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

/// Keys that never change.
struct FixedTokenKeys: TokenKeySource {
    let keys: [TokenKey]
}

/// The claims of a token, as decoded from JSON.
struct TokenClaims: Decodable {
    var sub: String?
    var exp: Double?
    var nbf: Double?
    var iat: Double?
    var iss: String?
    var aud: Audience?
    var rooms: [String: String]?

    /// The limit for times in a token, in seconds from now: ten years.
    ///
    /// A time beyond the limit was probably written in milliseconds.
    private static let furthest: Double = 10 * 365.25 * 86_400

    /// One name or a list of them (RFC 7519 §4.1.3).
    struct Audience: Decodable {
        let names: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            names = try (try? container.decode(String.self)).map { [$0] } ?? container.decode([String].self)
        }
    }

    /// Returns the identity, if all claims are valid at this time, in seconds since 1970 UTC.
    func identity(_ rules: TokenRules, at now: Double) throws(TokenRefusal) -> Identity {
        guard let user = sub.flatMap(UserName.init) else {
            throw TokenRefusal(.claims, "the token has no `sub` of 1 to 128 bytes")
        }
        if let hidden = user.hidden, !rules.allowsHiddenCharacters {
            throw TokenRefusal(.claims, "the token's `sub` contains an invisible character (\(hidden)): it could look like another user")
        }
        for (name, time) in [("exp", exp), ("nbf", nbf), ("iat", iat)] where time.map({ !($0 <= now + Self.furthest) }) ?? false {
            throw TokenRefusal(.claims, "the token's `\(name)` is more than ten years ahead: in milliseconds? It is in seconds (RFC 7519)")
        }
        let leeway = Double(rules.leeway.components.seconds)
        if exp == nil, rules.requiresExpiry { throw TokenRefusal(.claims, "the token has no `exp`") }
        if let exp, now >= exp + leeway { throw TokenRefusal(.expired, "the token has expired") }
        if let nbf, now < nbf - leeway { throw TokenRefusal(.early, "the token is not valid yet") }
        if let issuer = rules.issuer, iss != issuer { throw TokenRefusal(.foreign, "the token is from another issuer") }
        if let audience = rules.audience, aud?.names.contains(audience) != true {
            throw TokenRefusal(.foreign, "the token is for another audience")
        }
        let grants = (rooms ?? [:]).sorted { $0.key < $1.key }.map { Grant($0.key, RoomRights(letters: $0.value)) }
        let expires = exp.map { Int64(($0 + leeway) * 1000) }
        return Identity(user: user, grants: grants, expires: expires)
    }
}

/// The requirements for a token in addition to its signature.
public struct TokenRules: Hashable, Sendable {
    /// The required value of `iss`; nil: any value.
    public var issuer: String?
    /// The value that `aud` must be or contain; nil: any value.
    public var audience: String?
    /// How far the clocks of the token issuer and of this machine may differ; whole seconds.
    public var leeway: Duration = .seconds(30)
    /// Whether a token without `exp` is refused.
    public var requiresExpiry = true

    /// Whether `sub` may contain invisible characters: direction marks, characters without a width, tags.
    ///
    /// With these, one user can look like another. Some scripts and emoji need them within words.
    public var allowsHiddenCharacters = false

    /// Creates rules that accept any issuer and audience, allow 30 seconds of leeway, and require an expiry.
    public init() {}
}
