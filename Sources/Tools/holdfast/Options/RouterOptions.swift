import ArgumentParser
import CodecCore
import Foundation
import Holdfast
import HoldfastRouter
import Logging

/// Whom a router lets in, and how it behaves.
struct RouterOptions: ParsableArguments {
    /// Whose quirks a router has.
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

    @Option(help: ArgumentHelp("Let clients join this realm only; may be repeated (default: any realm).", valueName: "name"))
    var realm: [String] = []

    @Option(help: ArgumentHelp("Add a user with a ticket; may be repeated.", valueName: "name:ticket"))
    var user: [UserArgument] = []

    @Option(help: ArgumentHelp("Add a user who signs with a secret (WAMP-CRA); may be repeated.", valueName: "name:secret"))
    var cra: [UserArgument] = []

    @Option(help: ArgumentHelp("Add the users of this file.", valueName: "file"))
    var users: String?

    @Flag(help: "Let anonymous clients join, though there are users.")
    var anonymous = false

    @Option(help: "Behave as another router does: \(Quirks.allCases.map(\.rawValue).joined(separator: ", ")).")
    var quirks = Quirks.none

    @Option(help: ArgumentHelp("Keep so many of the last events of each topic, for get_events (default: 0).", valueName: "count"))
    var history = 0

    @Flag(help: "Take URIs of lower-case letters, digits and _ only.")
    var strictUris = false

    @Flag(help: "Offer neither the meta API nor its events.")
    var noMeta = false

    @Flag(help: "Let every client end the sessions of others, by wamp.session.kill and its kin.")
    var allowKill = false

    @Option(
        help: ArgumentHelp(
            "Let one address have so many connections, at most half of all that there may be (default: 1000).", valueName: "count"))
    var addressConnections: Int?

    @Flag(
        help: ArgumentHelp(
            "All clients come through a proxy that adds their address to X-Forwarded-For.",
            discussion: "That address is what limits count, of connections, of failed logins and of what is kept."))
    var behindProxy = false

    @Flag(help: "Log each message, in words: kinds, names and numbers, not what they carry.")
    var trace = false

    func validate() throws {
        guard 1...1_000_000 ~= addressConnections ?? 1 else { throw ValidationError("--address-connections: 1 to 1000000.") }
        guard 0...1_000_000 ~= history else { throw ValidationError("--history: 0 to 1000000.") }
        for (option, names) in [("--user", user.map(\.name)), ("--cra", cra.map(\.name)), ("--realm", realm)] {
            guard let hidden = names.lazy.compactMap(\.firstHidden).first else { continue }
            throw ValidationError("\(option): a name holds a character that nobody sees (\(hidden)).")
        }
        if let users, access(users, R_OK) != 0 {
            throw ValidationError("cannot read \(users.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
    }

    /// The configuration that the options ask for.
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
        // One address does not take them all.
        let wanted = addressConnections ?? defaults.maximumConnectionsPerAddress ?? .max
        let share = OpenFiles.share(ofConnections: configuration.server.maximumConnections, allowed: wanted)
        configuration.server.maximumConnectionsPerAddress = share
        if addressConnections != nil, share < wanted {
            log.note("one address may have \(share) connections: half of the \(configuration.server.maximumConnections) that there may be")
        }
        configuration.isBehindProxy = behindProxy
        configuration.server.compression = nil
        // Two long messages in a row are no sign of a slow client.
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
                log.note("challenges of names that are not on the list are others after a restart: \(error.description)")
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

/// A user and what it proves itself with: `name:secret`.
struct UserArgument: ExpressibleByArgument, Hashable, Sendable {
    let name: String
    let secret: String

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":"), colon > argument.startIndex else { return nil }
        (name, secret) = (String(argument[..<colon]), String(argument[argument.index(after: colon)...]))
        if secret.isEmpty { return nil }
    }
}
