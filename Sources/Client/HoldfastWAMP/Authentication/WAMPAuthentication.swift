public import WAMPSigning

/// How an app proves to a router who it is.
///
/// Each time the client joins, it does so afresh: with new nonces, and with a new ticket where the app makes them.
public struct WAMPAuthentication: Sendable {
    /// Makes the ticket for one joining; a failure is told to the app, and tried again with the next connection.
    public typealias TicketProvider = @Sendable () async throws -> String

    enum Way: Sendable {
        case anonymous
        case ticket(TicketProvider)
        case cra(secret: String)
        case cryptosign(CryptosignKey)
        case scram(password: String, argon2: Argon2id?)
    }

    /// The ways that are offered, the best first.
    let ways: [Way]
    /// Who the app says it is, or nil.
    public let authID: String?
    /// As what it wants to join; nil: as the router likes.
    public private(set) var authRole: String?
    /// What a router may make of the password; see `PasswordCosts`.
    public var costs = PasswordCosts()

    private init(_ ways: [Way], _ authID: String?) { (self.ways, self.authID) = (ways, authID) }

    /// As nobody in particular.
    public static let anonymous = WAMPAuthentication([.anonymous], nil)

    /// With a ticket, which the router is shown as it is: only over TLS.
    public static func ticket(user: String, ticket: String) -> WAMPAuthentication { self.ticket(user: user) { ticket } }

    /// With a ticket that is made afresh for each joining, such as a token that ends: only over TLS.
    public static func ticket(user: String, provider: @escaping TicketProvider) -> WAMPAuthentication {
        WAMPAuthentication([.ticket(provider)], user)
    }

    /// With WAMP-CRA: a challenge is signed with a secret that both sides know; also where the router keeps it salted.
    public static func cra(user: String, secret: String) -> WAMPAuthentication { WAMPAuthentication([.cra(secret: secret)], user) }

    /// With WAMP-Cryptosign: a challenge is signed with a private key of Ed25519.
    ///
    /// - Parameters:
    ///   - user: Who the app says it is; nil: the router knows it by the key.
    ///   - key: The private key.
    public static func cryptosign(user: String? = nil, key: CryptosignKey) -> WAMPAuthentication {
        WAMPAuthentication([.cryptosign(key)], user)
    }

    /// With SCRAM, in both dialects: neither side shows the password, and the router proves itself too.
    ///
    /// - Parameters:
    ///   - user: Who the app says it is.
    ///   - password: The user's password. Letters beyond ASCII have to be normalized (SASLprep, RFC 4013) beforehand.
    ///   - argon2: What hashes the password where the router keeps it so; PBKDF2 is built in.
    public static func scram(user: String, password: String, argon2: Argon2id? = nil) -> WAMPAuthentication {
        WAMPAuthentication([.scram(password: password, argon2: argon2)], user)
    }

    /// With any of several ways, the best first: the router chooses.
    ///
    /// They are for one user, the first that is named.
    public static func any(of ways: WAMPAuthentication...) -> WAMPAuthentication {
        var any = WAMPAuthentication(ways.flatMap { $0.ways }, ways.lazy.compactMap { $0.authID }.first)
        any.authRole = ways.lazy.compactMap { $0.authRole }.first
        return any
    }

    /// The same, asking to join in a role.
    public func role(_ role: String) -> WAMPAuthentication {
        var other = self
        other.authRole = role
        return other
    }

    /// What the methods are called on the wire, the best first; those of SCRAM are two dialects.
    ///
    /// The dialect of the specification comes last of all: Crossbar refuses whoever names it, unless it has chosen a method before.
    public var methods: [String] {
        var (names, last): ([String], [String]) = ([], [])
        for way in ways {
            switch way {
            case .anonymous: names.append(SigningMethod.anonymous)
            case .ticket: names.append(SigningMethod.ticket)
            case .cra: names.append(SigningMethod.cra)
            case .cryptosign: names.append(SigningMethod.cryptosign)
            case .scram:
                names.append(SigningMethod.scram)
                last.append(SigningMethod.standardScram)
            }
        }
        return names + last
    }
}

extension WAMPAuthentication {
    /// What no log may show, as far as it is known before a challenge.
    var secrets: [String] {
        ways.compactMap { way in
            switch way {
            case .cra(let secret): secret
            case .scram(let password, _): password
            case .anonymous, .ticket, .cryptosign: nil
            }
        }
    }
}

extension WAMPAuthentication: CustomStringConvertible, CustomReflectable {
    /// The methods, and for whom; nothing secret.
    public var description: String { methods.joined(separator: ", ") + (authID.map { " of \($0)" } ?? "") }
    /// The methods, and for whom: neither `dump` nor a crash report tells secrets.
    public var customMirror: Mirror { Mirror(self, children: ["methods": methods, "authID": authID as Any]) }
}
