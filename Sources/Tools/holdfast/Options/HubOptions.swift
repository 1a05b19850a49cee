import ArgumentParser
import Foundation
import HoldfastHub
import HoldfastTerminal
import Logging

/// The options of a hub: storage, authentication and limits.
struct HubOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Keep the log in this directory (default: holdfast-data).", valueName: "directory"))
    var data: String?

    @Flag(
        help: ArgumentHelp(
            "Give all rooms new epochs: all clients get snapshots.",
            discussion: "For a log that was restored without a trace in its directory, such as from a snapshot of the whole disk."))
    var newEpochs = false

    @Flag(help: "Accept dev:NAME as a token from clients on this machine. Only if the hub listens on this machine only.")
    var dev = false

    @Option(help: ArgumentHelp("Accept tokens signed with this secret (HS256): a file of at least 32 bytes.", valueName: "file"))
    var secretFile: String?

    @Option(help: ArgumentHelp("Accept tokens signed with this key (RS256, ES256, EdDSA): its public half as PEM.", valueName: "file"))
    var publicKey: String?

    @Option(help: ArgumentHelp("Accept tokens signed with a key of this JSON Web Key Set; reloaded when it changes.", valueName: "file"))
    var jwks: String?

    @Option(help: ArgumentHelp("The required value of the tokens' claim iss.", valueName: "name"))
    var issuer: String?

    @Option(help: ArgumentHelp("The value that the tokens' claim aud must contain.", valueName: "name"))
    var audience: String?

    @Option(
        help: ArgumentHelp("Allow programs to use the HTTP API: a file with a key of 16 or more bytes on each line.", valueName: "file"))
    var apiKeyFile: String?

    @Option(help: ArgumentHelp("The directory for the backups of POST /api/backup.", valueName: "directory"))
    var backupTo: String?

    @Option(help: ArgumentHelp("Keep at most this many entries of a room.", valueName: "count"))
    var keepCount: Int64?

    @Option(help: ArgumentHelp("Keep entries for at most this many days.", valueName: "days"))
    var keepDays: Int64?

    @Option(help: ArgumentHelp("Keep at most this many bytes of a room, such as 64M.", valueName: "bytes"))
    var keepBytes: ByteCount?

    @Option(help: ArgumentHelp("Store at most this many bytes per user and day (default: 1G).", valueName: "bytes"))
    var quotaUser: ByteCount?

    @Option(help: ArgumentHelp("Store at most this many bytes of a room (default: 16G).", valueName: "bytes"))
    var quotaRoom: ByteCount?

    @Option(help: ArgumentHelp("The maximum size of the log in bytes (default: no limit).", valueName: "bytes"))
    var quotaTotal: ByteCount?

    @Option(help: ArgumentHelp("Leave this many bytes free on the log's disk; 0 for none (default: 256M).", valueName: "bytes"))
    var keepFree: SpareBytes?

    @Option(help: ArgumentHelp("The maximum number of simultaneous connections (default: 10000).", valueName: "count"))
    var maxConnections: Int?

    @Option(
        help: ArgumentHelp(
            "Change a limit of each connection, user or address, such as user.connections=5; repeatable. Limits: \(HubLimit.names).",
            discussion: """
                Messages, bytes and joins are per second. By default, an address may have 1000 connections, but never more than half of \
                all. In addition, it may have 100 connections of plain HTTP (address.http); the hub accepts 1000 of these in all (hub.http).
                """,
            valueName: "name=number"))
    var limit: [HubLimit] = []

    @Flag(
        help: ArgumentHelp(
            "All clients connect through a proxy that adds their address to X-Forwarded-For.",
            discussion: "Limits count this address, and no client counts as local: status and metrics require an API key."))
    var behindProxy = false

    @Option(help: ArgumentHelp("The name of this process among the processes of the hub.", valueName: "name"))
    var node: String?

    @Option(help: ArgumentHelp("Read options from this JSON file.", valueName: "file"))
    var config: String?

    func validate() throws {
        for file in [secretFile, publicKey, jwks, apiKeyFile, config].compactMap(\.self) where access(file, R_OK) != 0 {
            throw ValidationError("cannot read \(file.escapedOnOneLine): \(String(cString: strerror(errno))).")
        }
        if let keepCount, keepCount < 1 { throw ValidationError("--keep-count: at least 1.") }
        if let keepDays, !(1...36_500 ~= keepDays) { throw ValidationError("--keep-days: 1 to 36500.") }
        if let maxConnections, !(1...1_000_000 ~= maxConnections) { throw ValidationError("--max-connections: 1 to 1000000.") }
        if config == nil, ![secretFile, publicKey, jwks].contains(where: { $0 != nil }), !dev {
            throw ValidationError("nobody could join: give --jwks, --public-key or --secret-file, or --dev during development.")
        }
    }

    /// Returns the settings in the file; empty settings without a file.
    func settings() throws -> HubSettings {
        guard let config else { return HubSettings() }
        do {
            return try JSONDecoder().decode(HubSettings.self, from: Data(contentsOf: URL(fileURLWithPath: config)))
        } catch {
            throw ValidationError("\(config.escapedOnOneLine) is not a configuration: \(HubSettings.words(error)).")
        }
    }

    /// Returns the configuration for the options.
    func configuration(_ server: WebSocketServerConfiguration, isQuiet: Bool) async throws -> HubConfiguration {
        var configuration = HubConfiguration(data: data ?? "holdfast-data")
        configuration.drawsNewEpochs = newEpochs
        configuration.server = server
        configuration.server.compression = nil
        configuration.server.unsentLimit = HubConfiguration(data: "").server.unsentLimit
        configuration.server.maximumConnections = OpenFiles.makeRoom(forConnections: maxConnections ?? 10_000)
        for limit in limit { limit.apply(to: &configuration) }
        // One address must not use up all connections.
        let share = OpenFiles.share(ofConnections: configuration.server.maximumConnections)
        configuration.perAddress.connections = min(configuration.perAddress.connections, Int64(share))
        configuration.isBehindProxy = behindProxy
        configuration.logger.logLevel = isQuiet ? .error : .notice
        configuration.takesDevelopmentTokens = dev
        configuration.authority = try await authority(configuration.logger)
        configuration.backups = backupTo
        if let node { configuration.node = node }
        configuration.retention.count = keepCount
        configuration.retention.age = keepDays.map { $0 * 86_400_000 }
        configuration.retention.bytes = keepBytes.map { Int64($0.bytes) }
        if let quotaUser { configuration.quotas.userPerDay = Int64(quotaUser.bytes) }
        if let quotaRoom { configuration.quotas.room = Int64(quotaRoom.bytes) }
        if let quotaTotal { configuration.quotas.total = Int64(quotaTotal.bytes) }
        if let keepFree { configuration.quotas.free = Int64(keepFree.bytes) }
        if let apiKeyFile {
            let lines = try String(contentsOfFile: apiKeyFile, encoding: .utf8).split(whereSeparator: \.isNewline)
            configuration.apiKeys = lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
        }
        return configuration
    }

    private func authority(_ logger: Logger) async throws(HubError) -> (any HubAuthority)? {
        var files: [TokenVerifier.KeyFile] = []
        if let secretFile { files.append(.secret(secretFile)) }
        if let publicKey { files.append(.pem(publicKey)) }
        if let jwks { files.append(.set(jwks)) }
        guard !files.isEmpty else { return nil }
        var rules = TokenRules()
        (rules.issuer, rules.audience) = (issuer, audience)
        return try await TokenVerifier(files: files, rules: rules, logger: logger)
    }
}

/// A limit of a hub with a chosen value: `address.connections=500`.
struct HubLimit: Hashable, Sendable, ExpressibleByArgument {
    /// The limits that can be chosen; ``HubAllowance`` says which ones are per second.
    private static let paths: [(name: String, path: any WritableKeyPath<HubConfiguration, Int64> & Sendable)] = [
        ("connection.rooms", \.limits.rooms), ("connection.messages", \.perConnection.messages),
        ("connection.bytes", \.perConnection.bytes), ("connection.joins", \.perConnection.joins),
        ("user.connections", \.perUser.connections), ("user.messages", \.perUser.messages), ("user.bytes", \.perUser.bytes),
        ("user.joins", \.perUser.joins), ("user.rooms", \.perUser.rooms), ("address.connections", \.perAddress.connections),
        ("address.messages", \.perAddress.messages), ("address.bytes", \.perAddress.bytes), ("address.joins", \.perAddress.joins),
        ("address.rooms", \.perAddress.rooms),
        ("address.http", \.http.perAddress), ("hub.http", \.http.connections),
    ]
    static var names: String { paths.map(\.name).joined(separator: ", ") }
    static let values: ClosedRange<Int64> = 1...1_000_000_000

    let name: String
    let value: Int64

    /// Creates a limit; nil if there is no such limit or the value is out of range.
    init?(name: String, value: Int64) {
        guard Self.paths.contains(where: { $0.name == name }), Self.values ~= value else { return nil }
        (self.name, self.value) = (name, value)
    }

    /// Parses `name=value`.
    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, let value = Int64(parts[1]) else { return nil }
        self.init(name: String(parts[0]), value: value)
    }

    func apply(to configuration: inout HubConfiguration) {
        for (name, path) in Self.paths where name == self.name { configuration[keyPath: path] = value }
    }
}
