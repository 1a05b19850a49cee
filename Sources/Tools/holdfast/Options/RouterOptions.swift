import ArgumentParser
import CodecCore
import Foundation
import Holdfast
import HoldfastRouter
import HoldfastTerminal
import Logging
import MachineCore
import WAMPSigning

/// The options of a router: users, limits and behaviour.
struct RouterOptions: ParsableArguments {
    /// The router whose behaviour to imitate.
    enum Quirks: String, CaseIterable, ExpressibleByArgument {
        case none, crossbar, nexus

        var policy: RouterPolicy.Quirks {
            switch self {
            case .none: RouterPolicy.Quirks()
            case .crossbar: .crossbar
            case .nexus: .nexus
            }
        }
    }

    @Option(help: ArgumentHelp("Allow clients to join only this realm; repeatable (default: any realm).", valueName: "name"))
    var realm: [String] = []

    @Option(help: ArgumentHelp("Add a user with a ticket; repeatable.", valueName: "name:ticket"))
    var user: [UserArgument] = []

    @Option(help: ArgumentHelp("Add a user who signs with a secret (WAMP-CRA); repeatable.", valueName: "name:secret"))
    var cra: [UserArgument] = []

    @Option(help: ArgumentHelp("Add the users in this file.", valueName: "file"))
    var users: String?

    @Flag(help: "Allow anonymous clients to join although users are given.")
    var anonymous = false

    @Option(help: "Imitate another router: \(Quirks.allCases.map(\.rawValue).joined(separator: ", ")).")
    var quirks = Quirks.none

    @Option(help: ArgumentHelp("Keep this many of the last events of each topic, for get_events (default: 0).", valueName: "count"))
    var history = 0

    @Flag(help: "Accept only URIs of lower-case letters, digits and _.")
    var strictUris = false

    @Flag(help: "Offer neither the meta API nor its events.")
    var noMeta = false

    @Flag(help: "Allow every client to end the sessions of others, with wamp.session.kill and related procedures.")
    var allowKill = false

    @Option(
        help: ArgumentHelp(
            "The maximum number of connections of one address, at most half of all (default: 1000).", valueName: "count"))
    var addressConnections: Int?

    @Flag(
        help: ArgumentHelp(
            "All clients connect through a proxy that adds their address to X-Forwarded-For.",
            discussion: "Limits of connections, failed logins and stored data count this address."))
    var behindProxy = false

    @Flag(help: "Log each message in words: kinds, names and numbers, without the payload.")
    var trace = false

    func validate() throws {
        guard 1...1_000_000 ~= addressConnections ?? 1 else { throw ValidationError("--address-connections: 1 to 1000000.") }
        guard 0...1_000_000 ~= history else { throw ValidationError("--history: 0 to 1000000.") }
        for (option, names) in [("--user", user.map(\.name)), ("--cra", cra.map(\.name)), ("--realm", realm)] {
            guard let hidden = names.lazy.compactMap(\.firstHidden).first else { continue }
            throw ValidationError("\(option): a name contains an invisible character (\(hidden)).")
        }
        if let users, access(users, R_OK) != 0 {
            throw ValidationError("cannot read \(users.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
    }

    /// Returns the configuration for the options.
    func configuration(_ server: WebSocketServerConfiguration, _ log: ServerLog) throws -> WAMPRouterConfiguration {
        var policy = RouterPolicy()
        if !realm.isEmpty { policy.realms = Set(realm) }
        (policy.hasStrictURIs, policy.hasMetaAPI, policy.allowsKilling) = (strictUris, !noMeta, allowKill)
        (policy.historyLength, policy.quirks) = (history, quirks.policy)
        var configuration = WAMPRouterConfiguration(policy: policy)
        let defaults = configuration.server
        configuration.server = server
        configuration.server.unsentLimit = defaults.unsentLimit
        configuration.server.maximumConnections = OpenFiles.makeRoom(forConnections: server.maximumConnections)
        // One address must not use up all connections.
        let wanted = addressConnections ?? defaults.maximumConnectionsPerAddress ?? .max
        let share = OpenFiles.share(ofConnections: configuration.server.maximumConnections, allowed: wanted)
        configuration.server.maximumConnectionsPerAddress = share
        if addressConnections != nil, share < wanted {
            log.note("one address may have \(share) connections: half of the maximum of \(configuration.server.maximumConnections)")
        }
        configuration.isBehindProxy = behindProxy
        configuration.server.compression = nil
        // Two long messages in a row do not mean that a client is slow.
        configuration.limits.waiting = max(configuration.limits.waiting, 4 * min(server.limits.message, .max / 4))
        configuration.limits.waitingPerAddress = max(configuration.limits.waitingPerAddress, configuration.limits.waiting)
        configuration.authenticator = try roster(log)
        configuration.logger = Logger(label: "holdfast.router") { _ in ServerLogHandler(lines: log, logLevel: trace ? .trace : .info) }
        return configuration
    }

    private func roster(_ log: ServerLog) throws -> WAMPUsers {
        var key: [UInt8]?
        if let users {
            do throws(DecoyKey.Problem) {
                key = try DecoyKey.kept(beside: users).bytes
            } catch {
                log.note("challenges for unknown names change after a restart: \(error.description)")
            }
        }
        let list = try users.map { try UserList(file: $0, decoyKey: key).users } ?? []
        let isOpen = anonymous || (user.isEmpty && cra.isEmpty && list.isEmpty)
        var users = WAMPUsers(anonymousRole: isOpen ? "anonymous" : nil, decoyKey: key)
        for one in user { users.add(one.name, .ticket(one.secret)) }
        for one in cra { users.add(one.name, .cra(CRASecret(one.secret))) }
        for one in list { users.add(one.name, one.proof, role: one.role) }
        return users
    }
}

/// A user and its secret: `name:secret`.
struct UserArgument: ExpressibleByArgument, Hashable, Sendable {
    let name: String
    let secret: String

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":"), colon > argument.startIndex else { return nil }
        (name, secret) = (String(argument[..<colon]), String(argument[argument.index(after: colon)...]))
        if secret.isEmpty { return nil }
    }
}

/// The users of a file: each line has a method, a name, a secret, and optionally a role; lines that begin with `#` are comments.
///
/// For `cryptosign`, the secret is the public key in hexadecimal, which is not secret.
struct UserList {
    struct User {
        let name: String
        let proof: WAMPUsers.Proof
        let role: String
    }
    let users: [User]

    /// Reads a file; with a key, the salts are the same each time.
    init(file: String, decoyKey: [UInt8]? = nil) throws {
        users = try Self.users(in: try String(contentsOfFile: file, encoding: .utf8), of: file, decoyKey: decoyKey)
    }

    static func users(in text: String, of file: String, decoyKey: [UInt8]? = nil) throws -> [User] {
        // The salts are derived in the same way as those of unknown users.
        let salts = decoyKey.map { Decoys(key: $0) } ?? Decoys()
        var users: [User] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            // The error does not contain the line, because it contains a secret.
            guard 3...4 ~= words.count, let proofs = try? proofs(first, words[1], words[2], salts), !proofs.isEmpty else {
                throw ValidationError(
                    "\(file.escapedOnOneLine), line \(index + 1): use METHOD NAME SECRET [ROLE], METHOD ticket, cra, salted or scram, or "
                        + "cryptosign with a public key of 64 hexadecimal digits.")
            }
            if let hidden = words[1].firstHidden ?? words.dropFirst(3).first?.firstHidden {
                throw ValidationError(
                    "\(file.escapedOnOneLine), line \(index + 1): the name or the role contains an invisible character (\(hidden)).")
            }
            users += proofs.map { User(name: words[1], proof: $0, role: words.count == 4 ? words[3] : "user") }
        }
        return users
    }

    /// Returns the proofs of a line; empty if it is invalid.
    private static func proofs(_ method: String, _ name: String, _ secret: String, _ salts: Decoys) throws -> [WAMPUsers.Proof] {
        switch method {
        case "ticket": return [.ticket(secret)]
        case "cra": return [.cra(CRASecret(secret))]
        case "salted":
            let salt = salts.hexadecimalSalt(of: name)
            return [.cra(CRASecret(salted: try ChallengeResponse.saltedSecret(secret, salt: salt), salt: salt))]
        case "scram":
            let salt = salts.salt(of: name)
            return try ScramDialect.allCases.map {
                .scram(try ScramKeys(password: secret, dialect: $0, hash: .pbkdf2(iterations: 4096), salt: salt))
            }
        case "cryptosign":
            return CryptosignChallenge(publicKey: secret) == nil ? [] : [.cryptosign(publicKey: secret)]
        default: return []
        }
    }
}

/// The key for salts and for the challenges of unknown users; it is stored in a file beside the list of users.
struct DecoyKey {
    /// The reason why the key cannot be stored.
    struct Problem: Error, CustomStringConvertible {
        let description: String

        init(_ path: String, _ what: String) { description = "\(path.escapedOnOneLine): \(what)" }
    }

    private static let length = 32
    let bytes: [UInt8]

    /// Returns the key beside a list of users; creates it if it does not exist, readable only by its owner.
    static func kept(beside users: String) throws(Problem) -> DecoyKey {
        let path = users + ".key"
        // A list in a pipe has no directory for the key.
        guard isFile(URL(filePath: users).resolvingSymlinksInPath().path) else { throw Problem(users, "it is not a regular file") }
        if let key = try read(path) { return key }
        if let key = try made(at: path) { return key }
        // Another process created the key first.
        if let key = try read(path) { return key }
        throw Problem(path, "it appears and disappears")
    }

    private static func isFile(_ path: String) -> Bool {
        (try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType) == .typeRegular
    }

    /// Returns the key in the file; nil if there is no file.
    private static func read(_ path: String) throws(Problem) -> DecoyKey? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Problem(path, String(cString: strerror(errno)))
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard isFile(path) else { throw Problem(path, "it is not a regular file") }
        // Anyone who can read the key can tell which names are on the list.
        if fchmod(descriptor, 0o600) != 0 { throw Problem(path, "its permissions cannot be restricted to the owner") }
        let text = (try? file.read(upToCount: 1024)).flatMap { $0 }.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let digits = text.utf8.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard let bytes = Hexadecimal.bytes(digits), bytes.count == length else {
            throw Problem(path, "it does not contain a key of 64 hexadecimal digits")
        }
        return DecoyKey(bytes: bytes)
    }

    /// Creates a new key; returns nil if a key exists by now.
    private static func made(at path: String) throws(Problem) -> DecoyKey? {
        let bytes = (0..<length).map { _ in UInt8.random(in: 0 ... .max) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return nil }
            throw Problem(path, String(cString: strerror(errno)))
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data((Hexadecimal.text(bytes) + "\n").utf8))
            try file.synchronize()
        } catch {
            unlink(path)
            throw Problem(path, "it cannot be written")
        }
        return DecoyKey(bytes: bytes)
    }
}
