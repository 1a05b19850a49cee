import ArgumentParser
import CodecCore
import Foundation
import Holdfast
import HoldfastRouter
import HoldfastServer
import HoldfastTerminal
import Logging
import Testing
import WAMPCore

@testable import HoldfastTool

/// What `holdfast serve wamp` makes of its options.
@Suite struct RouterOptionsTests {
    private static let log = ServerLog(style: Style(isTerminal: false, environment: [:]), isQuiet: true)

    private func configuration(_ arguments: String...) throws -> WAMPRouterConfiguration {
        try RouterOptions.parse(arguments).configuration(WebSocketServerConfiguration(), Self.log)
    }

    @Test func `without options everybody may join any realm, and nothing is kept`() throws {
        let configuration = try configuration()
        #expect(configuration.policy.realms == nil && configuration.policy.historyLength == 0)
        #expect(configuration.policy.quirks == RouterPolicy.Quirks() && configuration.policy.hasMetaAPI)
        #expect(!configuration.policy.allowsKilling)
        #expect((configuration.authenticator as? WAMPUsers)?.anonymousRole == "anonymous")
        #expect(configuration.logger.logLevel == .info)
    }

    @Test func `options change the policy`() throws {
        let configuration = try configuration(
            "--realm", "one", "--realm", "two", "--quirks", "crossbar", "--history", "10", "--strict-uris", "--no-meta", "--allow-kill",
            "--trace")
        #expect(configuration.policy.realms == ["one", "two"] && configuration.policy.historyLength == 10)
        #expect(configuration.policy.quirks == .crossbar)
        #expect(configuration.policy.hasStrictURIs && !configuration.policy.hasMetaAPI && configuration.policy.allowsKilling)
        #expect(configuration.logger.logLevel == .trace)
    }

    @Test func `where messages may be long, several may wait for a client`() throws {
        var server = WebSocketServerConfiguration()
        let limits = try [1 << 10, 16 << 20, .max].map { length in
            server.limits.message = length
            return try RouterOptions.parse([]).configuration(server, Self.log).limits.waiting
        }
        #expect(limits[0] == WAMPRouterConfiguration().limits.waiting && limits[1] == 64 << 20 && limits[2] > .max / 2)
    }

    @Test func `where there are users, nobody is anonymous unless that is said`() throws {
        #expect((try configuration("--user", "ann:sesame").authenticator as? WAMPUsers)?.anonymousRole == nil)
        #expect((try configuration("--cra", "ann:hush", "--anonymous").authenticator as? WAMPUsers)?.anonymousRole == "anonymous")
    }

    @Test func `one address never has more than half of all connections, and a proxy tells of others`() throws {
        #expect(OpenFiles.share(ofConnections: 640, allowed: 1000) == 320 && OpenFiles.share(ofConnections: 640, allowed: 50) == 50)
        #expect(OpenFiles.share(ofConnections: 10_000) == 5000 && OpenFiles.share(ofConnections: 1) == 1)
        let all = try configuration().server.maximumConnections
        #expect(all > 0 && all == OpenFiles.makeRoom(forConnections: WebSocketServerConfiguration().maximumConnections))
        let shares = try ["7", "1000000"].map { try configuration("--address-connections", $0).server.maximumConnectionsPerAddress }
        #expect(shares == [7, max(all / 2, 1)])
        #expect(try configuration().server.maximumConnectionsPerAddress == max(min(1000, all / 2), 1))
        #expect(try configuration("--behind-proxy").isBehindProxy && !configuration().isBehindProxy)
    }

    @Test(arguments: ["--user", "--cra", "--realm"]) func `names with characters that nobody sees are refused`(_ option: String) {
        for name in ["ann\u{202E}", "a\u{200B}nn"] {
            #expect(throws: (any Error).self) { try RouterOptions.parse([option, name + (option == "--realm" ? "" : ":sesame")]) }
        }
        for line in ["ticket a\u{200B}nn sesame", "cra ann sesame ro\u{202E}le"] {
            let error = #expect(throws: ValidationError.self) { try UserList.users(in: line, of: "users") }
            #expect(error?.message.contains("users, line 1") == true && error?.message.contains("U+20") == true)
        }
    }

    @Test func `the key of salts is kept beside the list of users, for its owner alone`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "users-\(UInt64.random(in: 0 ... .max))").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (users, file) = (directory + "/users", directory + "/users.key")
        #expect(throws: DecoyKey.Problem.self) { try DecoyKey.kept(beside: users) }
        try "salted ann sesame\n".write(toFile: users, atomically: true, encoding: .utf8)
        let key = try DecoyKey.kept(beside: users).bytes
        func mode() throws -> Int? { try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int }
        #expect(try key.count == 32 && mode() == 0o600)
        #expect(chmod(file, 0o644) == 0)
        #expect(try DecoyKey.kept(beside: users).bytes == key && mode() == 0o600)
        for wrong in ["", "abc", String(repeating: "zz", count: 32), String(repeating: "ab", count: 33)] {
            try wrong.write(toFile: file, atomically: true, encoding: .utf8)
            #expect(throws: DecoyKey.Problem.self) { try DecoyKey.kept(beside: users) }
        }
        // Without one the router runs all the same.
        _ = try configuration("--users", users)
    }

    @Test func `with a key users have the same salts each time, and without one others`() async throws {
        func salts(_ key: [UInt8]?) async throws -> [Value?] {
            var users = WAMPUsers(anonymousRole: nil, decoyKey: key)
            for user in try UserList.users(in: "salted ann sesame", of: "users", decoyKey: key) { users.add(user.name, user.proof) }
            var salts: [Value?] = []
            for name in ["ann", "dan"] {
                let details: ValueMap = ["authid": .text(name), "authmethods": ["wampcra"]]
                guard case .challenged(_, let extra, _) = try await users.examine(WAMPApplicant(realm: "realm1", details: details)) else {
                    continue
                }
                salts.append(extra["salt"])
            }
            return salts
        }
        let key = [UInt8](repeating: 1, count: 32)
        let (kept, again, first, second) = try await (salts(key), salts(key), salts(nil), salts(nil))
        #expect(kept == again && kept.count == 2 && first[0] != second[0])
    }

    @Test func `a secret may hold colons, and neither it nor the name is empty`() {
        #expect(UserArgument(argument: "ann:a:b")?.secret == "a:b")
        for text in ["ann", "ann:", ":secret", ""] { #expect(UserArgument(argument: text) == nil) }
    }

    @Test func `a list of users has their proofs and roles`() throws {
        let users = try UserList.users(in: "# who\n\nticket ann sesame frontend\ncra bob hush\n salted cat hush backend \n", of: "users")
        #expect(users.map(\.name) == ["ann", "bob", "cat"] && users.map(\.role) == ["frontend", "user", "backend"])
        #expect(users.map(\.proof.method) == ["ticket", "wampcra", "wampcra"])
        let others = try UserList.users(in: "cryptosign dee \(String(repeating: "0aF9", count: 16)) ops\nscram eve hush\n", of: "users")
        #expect(others.map(\.name) == ["dee", "eve", "eve"] && others.map(\.role) == ["ops", "user", "user"])
        #expect(others.map(\.proof.method) == ["cryptosign", "scram", "wamp-scram"])
    }

    @Test(arguments: ["ticket ann", "magic ann sesame", "ticket ann sesame role more", "cryptosign ann sesame"])
    func `a line that names no user is told by its number, and its secret is not told`(_ line: String) {
        let error = #expect(throws: ValidationError.self) { try UserList.users(in: "cra bob hush\n" + line, of: "users") }
        #expect(error?.message.contains("users, line 2") == true && error?.message.contains("sesame") == false)
    }
}
