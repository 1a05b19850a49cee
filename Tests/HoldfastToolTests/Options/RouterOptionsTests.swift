import ArgumentParser
import Holdfast
import HoldfastRouter
import HoldfastServer
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
        #expect((configuration.authenticator as? WAMPUsers)?.anonymousRole == "anonymous")
        #expect(configuration.logger.logLevel == .info)
    }

    @Test func `options change the policy`() throws {
        let configuration = try configuration(
            "--realm", "one", "--realm", "two", "--quirks", "crossbar", "--history", "10", "--strict-uris", "--no-meta", "--trace")
        #expect(configuration.policy.realms == ["one", "two"] && configuration.policy.historyLength == 10)
        #expect(configuration.policy.quirks == .crossbar)
        #expect(configuration.policy.hasStrictURIs && !configuration.policy.hasMetaAPI)
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
