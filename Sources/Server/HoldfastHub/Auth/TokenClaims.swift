import Foundation
import RoomCore

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
