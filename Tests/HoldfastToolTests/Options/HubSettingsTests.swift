import ArgumentParser
import Foundation
import HoldfastHub
import HoldfastServer
import Testing

@testable import HoldfastTool

/// The options of a hub, and the file that completes them.
@Suite struct HubSettingsTests {
    private func settings(_ json: String) throws -> HubSettings { try JSONDecoder().decode(HubSettings.self, from: Data(json.utf8)) }

    private func command(_ arguments: [String]) throws -> ServeHubCommand {
        try #require(ServeHubCommand.parseAsRoot(["--dev"] + arguments) as? ServeHubCommand)
    }

    private func server(_ json: String, _ arguments: String...) throws -> WebSocketServerConfiguration {
        try settings(json).completing(command(arguments).serve).configuration(nil)
    }

    private func hub(_ json: String, _ arguments: String...) async throws -> HubConfiguration {
        try await settings(json).completing(command(arguments).hub).configuration(WebSocketServerConfiguration(), isQuiet: true)
    }

    @Test func `an option holds against the file, even at its usual value`() throws {
        let file = #"{"host": "0.0.0.0", "port": 7}"#
        let given = try server(file, "--host", "127.0.0.1", "--port", "9001")
        #expect(given.host == "127.0.0.1" && given.port == 9001)
        let left = try server(file)
        #expect(left.host == "0.0.0.0" && left.port == 7)
        let usual = try server("{}")
        #expect(usual.host == "127.0.0.1" && usual.port == 9001)
    }

    @Test func `a port that is given is not taken for the file's socket, nor a certificate of its own for the file's`() throws {
        #expect(try server(#"{"unix": "/tmp/hub"}"#).unixSocket == "/tmp/hub")
        #expect(try server(#"{"unix": "/tmp/hub"}"#, "--port", "0").unixSocket == nil)
        let serve = try settings(#"{"tls-cert": "/c", "tls-key": "/k"}"#).completing(command(["--tls-self-signed"]).serve)
        #expect(serve.tlsCert == nil && serve.tlsKey == nil)
    }

    @Test(arguments: [["--max-message", "1M"], ["--no-compression"], ["--http2"]])
    func `an option without effect is refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { try command(arguments) }
    }

    @Test func `limits and retention come from the file and from options, which hold`() async throws {
        let file = """
            {"limit": {"user.connections": 5, "address.messages": 70, "connection.rooms": 9}, "keep-bytes": "64M", "keep-count": 3,
             "max-connections": 100, "behind-proxy": true}
            """
        let hub = try await hub(file, "--limit", "user.connections=6", "--limit", "address.connections=40")
        #expect(hub.perUser.connections == 6 && hub.perAddress.connections == 40 && hub.perAddress.messages == 70 && hub.limits.rooms == 9)
        #expect(hub.retention.bytes == 64 << 20 && hub.retention.count == 3 && hub.retention.age == nil)
        #expect(hub.isBehindProxy && hub.server.maximumConnections == 100)
        #expect(try await self.hub(file, "--keep-bytes", "4K").retention.bytes == 4096)
        #expect(try await self.hub(#"{"keep-bytes": 5000}"#).retention.bytes == 5000)
    }

    @Test func `quotas and numbers of rooms come from the file and from options, which hold`() async throws {
        let file = #"{"quota-user": "2M", "quota-room": "3M", "quota-total": "4M", "keep-free": "5M", "limit": {"user.rooms": 6}}"#
        #expect(try await hub(file).quotas == HubQuotas(userPerDay: 2 << 20, room: 3 << 20, total: 4 << 20, free: 5 << 20))
        let hub = try await hub(file, "--quota-user", "7K", "--keep-free", "1", "--limit", "address.rooms=8")
        #expect(hub.quotas == HubQuotas(userPerDay: 7 << 10, room: 3 << 20, total: 4 << 20, free: 1))
        #expect(hub.perUser.rooms == 6 && hub.perAddress.rooms == 8)
        #expect(try await self.hub(file, "--keep-free", "0").quotas.free == 0)
        #expect(try await self.hub(#"{"keep-free": 0}"#).quotas.free == 0)
        #expect(try await self.hub("{}").quotas == HubQuotas())
    }

    @Test func `one address does not take more than half of all connections`() async throws {
        #expect(try await hub("{}", "--max-connections", "100").perAddress.connections == 50)
        #expect(try await hub("{}").perAddress.connections <= 1000)
        #expect(try await hub("{}", "--max-connections", "100", "--limit", "address.connections=100").perAddress.connections == 50)
        #expect(try await hub("{}", "--max-connections", "1").perAddress.connections == 1)
    }

    @Test(arguments: ["user.connections=0", "user.connections", "nothing=1", "user.connections=x", "=1", "user.bytes=1000000001"])
    func `what is no limit is refused, by its name`(text: String) throws {
        #expect(HubLimit(argument: text) == nil)
        #expect(throws: (any Error).self) { try command(["--limit", text]) }
        let parts = text.split(separator: "=")
        guard parts.count == 2, let value = Int64(parts[1]) else { return }
        let error = #expect(throws: ValidationError.self) {
            try settings("{\"limit\": {\"\(parts[0])\": \(value)}}").completing(command([]).hub)
        }
        #expect(error?.message.contains("\(parts[0])") == true && error?.message.contains("address.joins") == true)
    }

    @Test(
        arguments: [
            (#"{"prot": 1}"#, "no option prot"), (#"{"port": "x"}"#, "port has a value of the wrong kind"),
            (#"{"keep-bytes": "1T"}"#, "keep-bytes: 1T is not a number of bytes"),
            (#"{"limit": {"user.joins": "x"}}"#, "user.joins has a value"),
            (#"{"dev": 1}"#, "dev has a value of the wrong kind"), ("[]", "value of the wrong kind"), ("{", "not valid JSON"),
        ])
    func `a file that cannot be meant says what is wrong`(json: String, words: String) {
        do {
            _ = try settings(json)
            Issue.record("\(json) was taken")
        } catch {
            #expect(HubSettings.words(error).contains(words))
        }
    }

    @Test(arguments: [#"{"port": 70000}"#, #"{"tls-cert": "/nowhere", "tls-key": "/nowhere"}"#, #"{"metrics": -1}"#])
    func `what the file says is held to the same rules as options`(json: String) {
        #expect(throws: ValidationError.self) { try server(json) }
    }
}
