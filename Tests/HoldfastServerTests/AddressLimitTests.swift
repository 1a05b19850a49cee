import Holdfast
import NIOCore
import ScriptedPeers
import Testing

@testable import HoldfastServer

extension SocketTests {
    /// The limit of connections of one address.
    @Suite struct AddressLimitTests {
        @Test func `an IPv6 address is counted by its first half`() {
            let one = SocketAddress.network(of: "2001:db8:1:2::7")
            #expect(SocketAddress.network(of: "2001:db8:1:2:ffff::1") == one && SocketAddress.network(of: "2001:db8:1:3::7") != one)
            #expect(SocketAddress.network(of: "fe80::1%eth0") == SocketAddress.network(of: "fe80::2"))
            #expect(SocketAddress.network(of: "10.0.0.1") == "10.0.0.1" && SocketAddress.network(of: "::ffff:10.0.0.1") == "10.0.0.1")
            #expect(SocketAddress.network(of: "") == "")
        }

        @Test func `an address at its limit gets no further connection until one is closed`() async throws {
            try await WebSocketServer.echo { $0.maximumConnectionsPerAddress = 2 }.withRunning { server in
                var peers: [ScriptedPeer] = []
                for _ in 1...2 {
                    peers.append(try await ScriptedPeer.connect(to: server.port))
                    #expect(try await peers.last?.upgrade().status == 101)
                }
                let third = try await ScriptedPeer.connect(to: server.port)
                #expect(await third.readToEnd().isEmpty)
                // The places are also free after the server closed the connections.
                let channels = server.channels.all
                for peer in peers { await peer.close() }
                for channel in channels { try await channel.closeFuture.get() }
                #expect(try await ScriptedPeer.connect(to: server.port).upgrade().status == 101)
            }
        }
    }
}
