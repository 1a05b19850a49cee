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

    @Test func `one address has half of all connections at most`() throws {
        // What a process with 1,024 descriptors may have.
        #expect(try connectionsOfAnAddress(of: 640) == 320)
        #expect(try connectionsOfAnAddress(of: 2000) == 1000)
        #expect(try connectionsOfAnAddress(of: 1) == 1)
        #expect(try connectionsOfAnAddress(of: 0) == 1)
        #expect(try connectionsOfAnAddress(of: 640) { $0.perAddress.connections = 640 } == 320)
    }

    @Test func `of many it has those that it is allowed, and some that have not said yet what they are`() throws {
        #expect(try connectionsOfAnAddress(of: 10_000) == 2100)
        #expect(try connectionsOfAnAddress(of: 10_000) { ($0.perAddress.connections, $0.http.perAddress) = (30, 20) } == 1050)
    }

    @Test func `what is said otherwise holds, and a proxy is not limited`() throws {
        #expect(try connectionsOfAnAddress(of: 640) { $0.server.maximumConnectionsPerAddress = 600 } == 600)
        #expect(try connectionsOfAnAddress(of: 640) { $0.isBehindProxy = true } == nil)
    }
}
