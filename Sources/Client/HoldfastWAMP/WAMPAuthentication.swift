import CodecCore
public import WAMPSigning
import WebSocketRuntime

/// The authentication of an app at a router.
///
/// The client authenticates anew each time it joins: with new nonces, and with a new ticket if the app provides one.
public struct WAMPAuthentication: Sendable {
    /// Provides the ticket for one join; a failure is reported to the app, and the next connection tries again.
    public typealias TicketProvider = @Sendable () async throws -> String

    enum Way: Sendable {
        case anonymous
        case ticket(TicketProvider)
        case cra(secret: String)
        case cryptosign(CryptosignKey)
        case scram(password: String, argon2: Argon2id?)
    }

    /// The offered methods, in order of preference.
    let ways: [Way]
    /// The user ID that the app claims, or nil.
    public let authID: String?
    /// The role that the app asks for; nil lets the router choose.
    public private(set) var authRole: String?
    /// The limits for the password hashing that a router may ask for; see `PasswordCosts`.
    public var costs = PasswordCosts()

    private init(_ ways: [Way], _ authID: String?) { (self.ways, self.authID) = (ways, authID) }

    /// Anonymous authentication.
    public static let anonymous = WAMPAuthentication([.anonymous], nil)

    /// Authenticates with a ticket, which the router receives in plain text; use it only over TLS.
    public static func ticket(user: String, ticket: String) -> WAMPAuthentication { self.ticket(user: user) { ticket } }

    /// Authenticates with a ticket that is requested for each join, such as a token that expires; use it only over TLS.
    public static func ticket(user: String, provider: @escaping TicketProvider) -> WAMPAuthentication {
        WAMPAuthentication([.ticket(provider)], user)
    }

    /// Authenticates with WAMP-CRA: signs a challenge with a shared secret; also works with routers that store the secret salted.
    public static func cra(user: String, secret: String) -> WAMPAuthentication { WAMPAuthentication([.cra(secret: secret)], user) }

    /// Authenticates with WAMP-Cryptosign: signs a challenge with an Ed25519 private key.
    ///
    /// - Parameters:
    ///   - user: The user ID that the app claims; nil if the router identifies the user by the key.
    ///   - key: The private key.
    public static func cryptosign(user: String? = nil, key: CryptosignKey) -> WAMPAuthentication {
        WAMPAuthentication([.cryptosign(key)], user)
    }

    /// Authenticates with SCRAM, in both dialects: neither side reveals the password, and the router proves its identity too.
    ///
    /// - Parameters:
    ///   - user: The user ID that the app claims.
    ///   - password: The user's password. Characters beyond ASCII must be normalized (SASLprep, RFC 4013) beforehand.
    ///   - argon2: Hashes the password if the router stores it with Argon2id; PBKDF2 is built in.
    public static func scram(user: String, password: String, argon2: Argon2id? = nil) -> WAMPAuthentication {
        WAMPAuthentication([.scram(password: password, argon2: argon2)], user)
    }

    /// Authenticates with one of several methods, in order of preference; the router chooses.
    ///
    /// All of them are for one user, the first that is named.
    public static func any(of ways: WAMPAuthentication...) -> WAMPAuthentication {
        var any = WAMPAuthentication(ways.flatMap { $0.ways }, ways.lazy.compactMap { $0.authID }.first)
        any.authRole = ways.lazy.compactMap { $0.authRole }.first
        return any
    }

    /// Returns the same authentication with a request for a role.
    public func role(_ role: String) -> WAMPAuthentication {
        var other = self
        other.authRole = role
        return other
    }

    /// The names of the methods on the wire, in order of preference; SCRAM has two dialects.
    ///
    /// The dialect of the specification comes last: Crossbar refuses a client that names it, unless it has chosen an earlier method.
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
    /// The secrets that must not appear in logs, as far as they are known before a challenge.
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
    /// The methods and the user; contains no secrets.
    public var description: String { methods.joined(separator: ", ") + (authID.map { " of \($0)" } ?? "") }
    /// The methods and the user, so that neither `dump` nor a crash report contains secrets.
    public var customMirror: Mirror { Mirror(self, children: ["methods": methods, "authID": authID as Any]) }
}

/// The use of a ``WAMPAuthentication`` on one connection; its nonces are used once.
///
/// `extra` goes into HELLO, `prove` answers a CHALLENGE, `check` verifies the WELCOME.
final class WAMPIdentification: Sendable {
    /// The value of `authextra` in HELLO.
    let extra: ValueMap
    private let authentication: WAMPAuthentication
    private let scram: ScramClient?
    /// The answer against which the router's signature is verified.
    private let answer = LockedValue<ScramAnswer?>(nil)

    init(_ authentication: WAMPAuthentication) {
        self.authentication = authentication
        var extra = ValueMap()
        var scram: ScramClient?
        for way in authentication.ways {
            switch way {
            case .cryptosign(let key):
                extra["pubkey"] = .text(key.publicKey)
                extra["channel_binding"] = .null
            case .scram(let password, let argon2):
                let client = ScramClient(user: authentication.authID ?? "", password: password, argon2: argon2, costs: authentication.costs)
                for entry in client.extra { extra[entry.key] = entry.value }
                scram = client
            case .anonymous, .ticket, .cra: break
            }
        }
        (self.extra, self.scram) = (extra, scram)
    }

    /// Returns the answer to a challenge.
    ///
    /// Hashing a password takes time, so this runs concurrently, and ends if the task is cancelled.
    ///
    /// - Throws: A `SigningError`, or the error of the app's ticket provider.
    @concurrent func prove(method: String, extra: ValueMap) async throws -> (signature: String, extra: ValueMap) {
        for way in authentication.ways {
            switch (way, method) {
            case (.ticket(let provider), SigningMethod.ticket): return (try await provider(), [:])
            case (.cra(let secret), SigningMethod.cra):
                return (try ChallengeResponse.answer(extra, secret: secret, costs: authentication.costs), [:])
            case (.cryptosign(let key), SigningMethod.cryptosign): return (try key.answer(extra), [:])
            case (.scram, SigningMethod.scram), (.scram, SigningMethod.standardScram):
                guard let scram, let dialect = ScramDialect(rawValue: method) else { break }
                let answer = try scram.answer(extra, dialect: dialect)
                self.answer.withLockedValue { $0 = answer }
                return (answer.signature, answer.extra)
            default: break
            }
        }
        throw SigningError.notOffered(method)
    }

    /// Whether the details of a WELCOME prove that the router knows the user; called only after a SCRAM challenge.
    func check(details: ValueMap) -> Bool { answer.withLockedValue { $0?.isGenuine(details) } ?? false }
}
