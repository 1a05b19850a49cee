import ArgumentParser
import CodecCore
import Foundation
import Holdfast
import HoldfastTerminal
import HoldfastWAMP
import WAMPCore
import WAMPSigning

/// The options of the realm and of the session.
struct WAMPRealmOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("ws://host:port/ or wss://… of a router", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @Argument(help: ArgumentHelp("The realm to join.", valueName: "realm"))
    var realm: String

    @Option(help: "The serialization of messages (default: msgpack, cbor or json, the first that the router accepts).")
    var serialization: WAMPSerialization?

    @Option(help: ArgumentHelp("How long to try to join the realm.", valueName: "seconds"))
    var patience = Seconds(10)

    @Flag(help: "Print each message in words to standard error: → sent, ← received. Secrets are left out.")
    var trace = false

    @Flag(help: "With --trace: also print the payloads of messages.")
    var payloads = false

    func validate() throws {
        if payloads, !trace { throw ValidationError("--payloads needs --trace.") }
        if realm.isEmpty { throw ValidationError("the realm must not be empty.") }
    }
}

/// The login options: the user and the proof of identity.
struct WAMPLoginOptions: ParsableArguments {
    static let secretVariable = "HOLDFAST_WAMP_SECRET"

    /// The authentication method.
    enum Method: String, ExpressibleByArgument, CaseIterable {
        case anonymous, ticket, cra, cryptosign, scram

        /// Accepts the names in WAMP, too.
        init?(argument: String) {
            switch argument {
            case "wampcra": self = .cra
            case "wamp-scram": self = .scram
            default: self.init(rawValue: argument)
            }
        }
    }

    @Option(
        help: ArgumentHelp(
            "How to prove your identity (default: anonymous); scram works with passwords hashed by PBKDF2, not by Argon2."))
    var auth: Method?

    @Option(help: ArgumentHelp("Your name; not needed for cryptosign if the router knows the key.", valueName: "name"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "The ticket, secret or password, or the key of cryptosign in hexadecimal. Other users can see a command line: give "
                + "--secret-file or set $\(Self.secretVariable) instead.",
            valueName: "secret"))
    var secret: String?

    @Option(help: ArgumentHelp("The file whose first line is the secret.", valueName: "file"))
    var secretFile: String?

    @Option(help: ArgumentHelp("The role to request from the router.", valueName: "role"))
    var role: String?

    func validate() throws {
        if secret != nil, secretFile != nil { throw ValidationError("--secret and --secret-file exclude each other.") }
        if let secretFile, access(secretFile, R_OK) != 0 {
            throw ValidationError("--secret-file: cannot read \(secretFile.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
        let method = auth ?? .anonymous
        if method == .anonymous {
            if secret != nil || secretFile != nil { throw ValidationError("a secret needs --auth ticket, cra, cryptosign or scram.") }
            if user != nil, auth == nil { throw ValidationError("--user needs --auth: say how to prove your identity.") }
        } else if user?.isEmpty ?? (method != .cryptosign) {
            throw ValidationError("--auth \(method.rawValue) needs --user.")
        }
    }

    /// Returns the secret from the options or the environment.
    ///
    /// Error messages must not contain it.
    func secret(environment: [String: String]) throws -> String {
        var found = secret ?? environment[Self.secretVariable]
        if let secretFile {
            guard let bytes = FileManager.default.contents(atPath: secretFile), let text = String(bytes: bytes, encoding: .utf8) else {
                throw ValidationError("--secret-file: \(secretFile.escapedOnOneLine) is not UTF-8 text.")
            }
            found = String(text.prefix { !$0.isNewline })
        }
        guard let found, !found.isEmpty else {
            throw ValidationError("--auth: there is no secret; give it in --secret-file or $\(Self.secretVariable).")
        }
        return found
    }

    /// Returns the authentication for the options.
    func authentication(environment: [String: String]) throws -> WAMPAuthentication {
        let authentication = try self.method(environment)
        return role.map { authentication.role($0) } ?? authentication
    }

    private func method(_ environment: [String: String]) throws -> WAMPAuthentication {
        guard let auth, auth != .anonymous else { return .anonymous }
        let secret = try secret(environment: environment)
        // Only cryptosign allows a missing user.
        let name = user ?? ""
        switch auth {
        case .anonymous: return .anonymous
        case .ticket: return .ticket(user: name, ticket: secret)
        case .cra: return .cra(user: name, secret: secret)
        case .scram: return .scram(user: name, password: secret)
        case .cryptosign:
            // The error must not contain the key.
            guard let key = try? CryptosignKey(hexadecimal: secret) else {
                throw ValidationError("--auth cryptosign: the secret is not a key: use 32 bytes, as 64 hexadecimal digits.")
            }
            return .cryptosign(user: user, key: key)
        }
    }
}

/// The arguments of a call or an event.
struct WAMPPayloadOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The arguments: each is JSON, or else a text; '\"7\"' is a text, too. Write -- before the first that begins with -.",
            valueName: "argument"))
    var arguments: [JSONArgument] = []

    @Option(name: [.short, .long], help: ArgumentHelp("An argument with its name; repeatable.", valueName: "name=json"))
    var keyword: [KeywordArgument] = []

    func validate() throws {
        var names: Set<String> = []
        for argument in keyword where !names.insert(argument.name).inserted {
            throw ValidationError("--keyword: \(argument.name.escapedOnOneLine) is given twice.")
        }
    }

    /// The positional arguments.
    var list: [Value] { arguments.map(\.value) }

    /// The keyword arguments.
    var keywords: ValueMap { ValueMap(keyword.map { ValueMap.Entry(key: .text($0.name), value: $0.value) }) }
}

/// The subscribers that get an event; with several options, a subscriber must match all of them.
struct WAMPAudienceOptions: ParsableArguments {
    @Flag(help: "Also send the event to this session (exclude_me: false), to test how the router handles it.")
    var toMe = false

    @Option(help: ArgumentHelp("Do not send the event to this session; repeatable, as all of these options.", valueName: "session"))
    var exclude: [WAMPID] = []

    @Option(help: ArgumentHelp("Do not send the event to sessions of this user.", valueName: "name"))
    var excludeUser: [String] = []

    @Option(help: ArgumentHelp("Do not send the event to sessions with this role.", valueName: "role"))
    var excludeRole: [String] = []

    @Option(help: ArgumentHelp("Send the event only to this session.", valueName: "session"))
    var eligible: [WAMPID] = []

    @Option(help: ArgumentHelp("Send the event only to sessions of this user.", valueName: "name"))
    var eligibleUser: [String] = []

    @Option(help: ArgumentHelp("Send the event only to sessions with this role.", valueName: "role"))
    var eligibleRole: [String] = []

    /// The excluded sessions.
    var excluded: PublishOptions.Audience { Self.audience(exclude, excludeUser, excludeRole) }

    /// The eligible sessions.
    var allowed: PublishOptions.Audience { Self.audience(eligible, eligibleUser, eligibleRole) }

    /// Returns an audience without empty lists: an empty list would mean that nobody gets the event.
    private static func audience(_ sessions: [WAMPID], _ users: [String], _ roles: [String]) -> PublishOptions.Audience {
        PublishOptions.Audience(
            sessions: sessions.isEmpty ? nil : sessions, authIDs: users.isEmpty ? nil : users, authRoles: roles.isEmpty ? nil : roles)
    }
}
