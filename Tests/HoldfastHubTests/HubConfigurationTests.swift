import HoldfastServer
import Testing

@testable import HoldfastHub

@Suite struct HubConfigurationTests {
    private func connectionsOfAnAddress(
        of all: Int, _ change: (inout HubConfiguration) -> Void = { _ in }
    ) throws -> Int? {
        var configuration = HubConfiguration(data: "")
        configuration.server.maximumConnections = all
        change(&configuration)
        return try configuration.serverConfiguration().maximumConnectionsPerAddress
    }

    @Test func `one address may use at most half of all connections`() throws {
        // The limit of a process with 1,024 descriptors.
        #expect(try connectionsOfAnAddress(of: 640) == 320)
        #expect(try connectionsOfAnAddress(of: 2000) == 1000)
        #expect(try connectionsOfAnAddress(of: 1) == 1)
        #expect(try connectionsOfAnAddress(of: 0) == 1)
        #expect(try connectionsOfAnAddress(of: 640) { $0.perAddress.connections = 640 } == 320)
    }

    @Test func `an address may use its limit, and some more for connections that are not identified yet`() throws {
        #expect(try connectionsOfAnAddress(of: 10_000) == 2100)
        #expect(try connectionsOfAnAddress(of: 10_000) { ($0.perAddress.connections, $0.http.perAddress) = (30, 20) } == 1050)
    }

    @Test func `a configured limit is used, and a proxy is not limited`() throws {
        #expect(try connectionsOfAnAddress(of: 640) { $0.server.maximumConnectionsPerAddress = 600 } == 600)
        #expect(try connectionsOfAnAddress(of: 640) { $0.isBehindProxy = true } == nil)
    }
}
