import Holdfast
import NIOCore
import ScriptedPeers
import Testing

@testable import HoldfastServer

extension SocketTests {
    /// How many connections an address may have.
    @Suite struct AddressLimitTests {
        @Test func `of an IPv6 address the first half counts`() {
            let one = SocketAddress.network(of: "2001:db8:1:2::7")
            #expect(SocketAddress.network(of: "2001:db8:1:2:ffff::1") == one && SocketAddress.network(of: "2001:db8:1:3::7") != one)
            #expect(SocketAddress.network(of: "fe80::1%eth0") == SocketAddress.network(of: "fe80::2"))
            #expect(SocketAddress.network(of: "10.0.0.1") == "10.0.0.1" && SocketAddress.network(of: "::ffff:10.0.0.1") == "10.0.0.1")
            #expect(SocketAddress.network(of: "") == "")
        }

        @Test func `who has so many that say nothing gets no more, until one has gone`() async throws {
            try await WebSocketServer.echo { $0.maximumConnectionsPerAddress = 2 }.withRunning { server in
                var peers: [ScriptedPeer] = []
                for _ in 1...2 { peers.append(try await ScriptedPeer.connect(to: server.port)) }
                while server.connectionCount < 2 { await Task.yield() }
                let third = try await ScriptedPeer.connect(to: server.port)
                #expect(await third.readToEnd().isEmpty)
                await peers[0].close()
                while server.connectionCount == 2 { await Task.yield() }
                #expect(try await ScriptedPeer.connect(to: server.port).upgrade().status == 101)
            }
        }
    }
}
