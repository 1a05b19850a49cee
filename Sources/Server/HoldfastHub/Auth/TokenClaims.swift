import Foundation
import RoomCore

/// What a token says, as it is read from JSON.
struct TokenClaims: Decodable {
    var sub: String?
    var exp: Double?
    var nbf: Double?
    var iss: String?
    var aud: Audience?
    var rooms: [String: String]?

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
        let leeway = Double(rules.leeway.components.seconds)
        if exp == nil, rules.requiresExpiry { throw TokenRefusal(.claims, "the token has no `exp`") }
        if let exp, now >= exp + leeway { throw TokenRefusal(.expired, "the token has expired") }
        if let nbf, now < nbf - leeway { throw TokenRefusal(.early, "the token is not valid yet") }
        if let issuer = rules.issuer, iss != issuer { throw TokenRefusal(.foreign, "the token is of another issuer") }
        if let audience = rules.audience, aud?.names.contains(audience) != true {
            throw TokenRefusal(.foreign, "the token is for another audience")
        }
        let grants = (rooms ?? [:]).sorted { $0.key < $1.key }.map { Grant($0.key, RoomRights(letters: $0.value)) }
        // A time beyond all calendars is no end.
        let expires = exp.map { ($0 + leeway) * 1000 }.flatMap { $0 < 1e15 ? Int64($0) : nil }
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

    /// Any issuer and audience, half a minute of leeway, and an end.
    public init() {}
}
