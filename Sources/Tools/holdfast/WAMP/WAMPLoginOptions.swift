import ArgumentParser
import Foundation
import HoldfastWAMP
import WAMPSigning

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
}

extension WAMPLoginOptions {
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
