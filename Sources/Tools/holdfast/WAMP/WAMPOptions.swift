import ArgumentParser
import CodecCore
import Foundation
import Holdfast
import HoldfastWAMP
import WAMPCore
import WAMPSigning

/// What decides which realm is joined, and how.
struct WAMPRealmOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("ws://host:port/ or wss://… of a router", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @Argument(help: ArgumentHelp("The realm to join.", valueName: "realm"))
    var realm: String

    @Option(help: "How messages are written (default: msgpack, cbor or json, the first that the router takes).")
    var serialization: WAMPSerialization?

    @Option(help: ArgumentHelp("How long to try to join the realm.", valueName: "seconds"))
    var patience = Seconds(10)

    @Flag(help: "Print each message in words to standard error: → is sent, ← has come. Secrets are left out.")
    var trace = false

    @Flag(help: "With --trace: print what messages carry, too.")
    var payloads = false

    func validate() throws {
        if payloads, !trace { throw ValidationError("--payloads goes with --trace.") }
        if realm.isEmpty { throw ValidationError("the realm has a name.") }
    }
}

/// Who joins the realm, and how that is proven.
struct WAMPLoginOptions: ParsableArguments {
    static let secretVariable = "HOLDFAST_WAMP_SECRET"

    /// How somebody proves who they are.
    enum Method: String, ExpressibleByArgument, CaseIterable {
        case anonymous, ticket, cra, cryptosign, scram

        /// Also by the names that WAMP gives them.
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
            "How to prove who you are (default: anonymous); scram with passwords that the router keeps hashed by PBKDF2, not by Argon2."))
    var auth: Method?

    @Option(help: ArgumentHelp("Who you are; cryptosign does without, where the router knows the key.", valueName: "name"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "The ticket, secret or password, or the key of cryptosign in hexadecimal. Other users can see a command line: give "
                + "--secret-file or set $\(Self.secretVariable) instead.",
            valueName: "secret"))
    var secret: String?

    @Option(help: ArgumentHelp("The file whose first line is the secret.", valueName: "file"))
    var secretFile: String?

    @Option(help: ArgumentHelp("As what to join, if the router is to know.", valueName: "role"))
    var role: String?

    func validate() throws {
        if secret != nil, secretFile != nil { throw ValidationError("--secret and --secret-file exclude each other.") }
        if let secretFile, access(secretFile, R_OK) != 0 {
            throw ValidationError("--secret-file: cannot read \(secretFile.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
        let method = auth ?? .anonymous
        if method == .anonymous {
            if secret != nil || secretFile != nil { throw ValidationError("a secret goes with --auth ticket, cra, cryptosign or scram.") }
            if user != nil, auth == nil { throw ValidationError("--user goes with --auth: say how to prove it.") }
        } else if user?.isEmpty ?? (method != .cryptosign) {
            throw ValidationError("--auth \(method.rawValue) goes with --user.")
        }
    }

    /// The secret that the options name, or that is in the environment.
    ///
    /// It stands in no message.
    func secret(environment: [String: String]) throws -> String {
        var found = secret ?? environment[Self.secretVariable]
        if let secretFile {
            guard let bytes = FileManager.default.contents(atPath: secretFile), let text = String(bytes: bytes, encoding: .utf8) else {
                throw ValidationError("--secret-file: \(secretFile.escapedOnOneLine) is no text in UTF-8.")
            }
            found = String(text.prefix { !$0.isNewline })
        }
        guard let found, !found.isEmpty else {
            throw ValidationError("--auth: there is no secret; give it in --secret-file or $\(Self.secretVariable).")
        }
        return found
    }

    /// How the options prove who we are.
    func authentication(environment: [String: String]) throws -> WAMPAuthentication {
        let authentication = try self.method(environment)
        return role.map { authentication.role($0) } ?? authentication
    }

    private func method(_ environment: [String: String]) throws -> WAMPAuthentication {
        guard let auth, auth != .anonymous else { return .anonymous }
        let secret = try secret(environment: environment)
        // Only cryptosign may do without.
        let name = user ?? ""
        switch auth {
        case .anonymous: return .anonymous
        case .ticket: return .ticket(user: name, ticket: secret)
        case .cra: return .cra(user: name, secret: secret)
        case .scram: return .scram(user: name, password: secret)
        case .cryptosign:
            // The key must not stand in the message.
            guard let key = try? CryptosignKey(hexadecimal: secret) else {
                throw ValidationError("--auth cryptosign: the secret is no key: use 32 bytes, as 64 hexadecimal digits.")
            }
            return .cryptosign(user: user, key: key)
        }
    }
}

/// What a call or an event carries.
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
            throw ValidationError("--keyword: \(argument.name.escapedOnOneLine) stands twice.")
        }
    }

    /// Those by place.
    var list: [Value] { arguments.map(\.value) }

    /// Those by name.
    var keywords: ValueMap { ValueMap(keyword.map { ValueMap.Entry(key: .text($0.name), value: $0.value) }) }
}

/// Which subscribers get an event: with several of these, those who pass all of them.
struct WAMPAudienceOptions: ParsableArguments {
    @Flag(help: "Let the event come to this session, too (exclude_me: false): to see what the router makes of that.")
    var toMe = false

    @Option(help: ArgumentHelp("Not to this session; may be repeated, as all of these.", valueName: "session"))
    var exclude: [WAMPID] = []

    @Option(help: ArgumentHelp("Not to the sessions of this user.", valueName: "name"))
    var excludeUser: [String] = []

    @Option(help: ArgumentHelp("Not to sessions of this role.", valueName: "role"))
    var excludeRole: [String] = []

    @Option(help: ArgumentHelp("To this session only.", valueName: "session"))
    var eligible: [WAMPID] = []

    @Option(help: ArgumentHelp("To the sessions of this user only.", valueName: "name"))
    var eligibleUser: [String] = []

    @Option(help: ArgumentHelp("To sessions of this role only.", valueName: "role"))
    var eligibleRole: [String] = []

    /// Who does not get it.
    var excluded: PublishOptions.Audience { Self.audience(exclude, excludeUser, excludeRole) }

    /// Who alone gets it.
    var allowed: PublishOptions.Audience { Self.audience(eligible, eligibleUser, eligibleRole) }

    /// A list that nothing was given for is not sent: an empty one would say that nobody gets the event.
    private static func audience(_ sessions: [WAMPID], _ users: [String], _ roles: [String]) -> PublishOptions.Audience {
        PublishOptions.Audience(
            sessions: sessions.isEmpty ? nil : sessions, authIDs: users.isEmpty ? nil : users, authRoles: roles.isEmpty ? nil : roles)
    }
}
