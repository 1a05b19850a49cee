import Holdfast
import NIOCore
import NIOEmbedded
import NIOSSL
import ScriptedPeers
import Testing

@testable import WebSocketNIO

extension SocketTests {
    /// A connection that passes raw bytes through a proxy and TLS.
    @Suite struct ByteLinkTests {
        private static let long = Duration.seconds(60)

        private func open(_ url: String, isUnverified: Bool = false, _ change: (inout ClientOptions) -> Void = { _ in }) async throws
            -> ByteLink
        {
            var options = ClientOptions(url: try WebSocketURL(url))
            change(&options)
            return try await NIOConnector.bytes(options, isUnverified: isUnverified)
        }

        /// Reads all bytes up to the end.
        ///
        /// - Returns: The bytes, and whether the end was without an error; nil after a timeout.
        private func all(of link: ByteLink) async -> (bytes: [UInt8], isClean: Bool)? {
            var bytes: [UInt8] = []
            while true {
                switch await link.next(within: Self.long) {
                case .bytes(let more): bytes += more
                case .end(let error): return (bytes, error == nil)
                case .nothing: return nil
                }
            }
        }

        @Test func `bytes pass in both directions, and the link sends nothing of its own`() async throws {
            try await withScriptedServer { peer in
                let request = try await peer.read(5)
                try await peer.send(request.reversed())
            } client: { url in
                let link = try await open(url)
                #expect(link.security == nil && link.secured == nil && link.remote.hasPrefix("127.0.0.1:"))
                link.send(Array("hello".utf8))
                let end = await all(of: link)
                #expect(end?.bytes == Array("olleh".utf8) && end?.isClean == true)
            }
        }

        @Test func `bytes before the end are delivered before it, and the end is reported on every call`() async throws {
            try await withScriptedServer { peer in
                try await peer.send([UInt8](repeating: 7, count: 300_000))
            } client: { url in
                let link = try await open(url)
                #expect(await all(of: link)?.bytes.count == 300_000)
                guard case .end = await link.next(within: Self.long) else {
                    Issue.record("a second call does not report the end")
                    return
                }
            }
        }

        @Test func `bytes that arrived before any call are delivered before the end`() throws {
            let channel = EmbeddedChannel()
            let opened = channel.eventLoop.makePromise(of: ByteLink.self)
            let handler = ByteLinkHandler(ClientOptions(url: try WebSocketURL("ws://example.com/")), opened: opened)
            try channel.pipeline.syncOperations.addHandler(handler)
            try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 80)).wait()
            try channel.writeInbound(ByteBuffer(bytes: [1, 2]))
            try channel.close().wait()
            let arrivals = try (0..<2).map { _ in
                let arrived = channel.eventLoop.makePromise(of: ByteLink.Arrival.self)
                handler.wait(.seconds(1), arrived)
                return try arrived.futureResult.wait()
            }
            guard case .bytes([1, 2]) = arrivals[0], case .end = arrivals[1] else {
                Issue.record("\(arrivals)")
                return
            }
        }

        @Test func `a wait for bytes ends without a result at its timeout, and a later wait gets the bytes`() async throws {
            try await withScriptedServer { peer in
                _ = try await peer.read(1)
                try await peer.send([1])
            } client: { url in
                let link = try await open(url)
                guard case .nothing = await link.next(within: .milliseconds(1)) else {
                    Issue.record("bytes arrived though the peer sent nothing")
                    return
                }
                link.send([0])
                #expect(await all(of: link)?.bytes == [1])
            }
        }

        @Test func `cancelling a wait drops the link`() async throws {
            try await withScriptedServer { peer in
                // The read ends when the client has closed the connection.
                _ = await peer.readToEnd()
            } client: { url in
                let link = try await open(url)
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { _ = await link.next(within: .seconds(3600)) }
                    group.cancelAll()
                }
            }
        }

        @Test func `a socket file that does not exist is an error`() async {
            let error = await #expect(throws: TransportError.self) { try await open("ws+unix:/nowhere/nobody.sock:/") }
            #expect(error?.code == .unreachable)
        }

        // MARK: TLS

        @Test(arguments: [(TLSVersion.tlsv12, "1.2"), (.tlsv13, "1.3")])
        func `the link reports the TLS version and protocol that were agreed on`(version: TLSVersion, words: String) async throws {
            let files = try TrustCertificates.shared()
            try await TrustPeer(certificates: files, version: version, applicationProtocols: ["h2", "http/1.1"]).run { port in
                let link = try await open("wss://localhost:\(port)/") {
                    $0.tls = TLSOptions(trust: .file(files.path("root.pem")))
                    $0.tls.applicationProtocols = ["h2", "http/1.1"]
                }
                #expect(link.security?.version == words && link.security?.applicationProtocol == "h2" && link.secured != nil)
                #expect(link.security?.chain.count == 3 && link.security?.chain.first?.keyKind == .curve("P-256"))
                link.close()
            }
        }

        @Test func `an untrusted chain is refused, and an unverified link can inspect it`() async throws {
            try await TrustPeer(certificates: try TrustCertificates.shared()).run { port in
                let error = await #expect(throws: TransportError.self) { try await open("wss://localhost:\(port)/") }
                #expect(error?.code == .unknownAuthority)
                let link = try await open("wss://localhost:\(port)/", isUnverified: true)
                #expect(link.security?.chain.first?.subject == "Trust leaf")
                link.close()
            }
        }
    }
}
