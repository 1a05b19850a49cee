import HoldfastServer
import NIOCore
import NIOPosix
import Testing
import WebSocketCore
import WebSocketNIO
import WebSocketRuntime

#if canImport(Glibc)
    import Glibc
#endif

/// RFC 8305: a client reaches a host with addresses of two families even if one of them fails.
@Suite struct WaysHappyEyeballsTests {
    /// A resolver with fixed answers for each family; nil means no answer.
    private struct WaysResolver: Resolver, Sendable {
        let loop: any EventLoop
        let version4: [SocketAddress]?
        let version6: [SocketAddress]?
        private let open = LockedValue<[EventLoopPromise<[SocketAddress]>]>([])

        init(_ loop: any EventLoop, _ version4: [SocketAddress]?, _ version6: [SocketAddress]?) {
            (self.loop, self.version4, self.version6) = (loop, version4, version6)
        }

        func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { answer(version4) }
        func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { answer(version6) }

        func cancelQueries() {
            let unanswered = open.withLockedValue { open in
                defer { open = [] }
                return open
            }
            for promise in unanswered { promise.fail(CancellationError()) }
        }

        private func answer(_ addresses: [SocketAddress]?) -> EventLoopFuture<[SocketAddress]> {
            if let addresses { return loop.makeSucceededFuture(addresses) }
            let promise = loop.makePromise(of: [SocketAddress].self)
            open.withLockedValue { $0.append(promise) }
            return promise.futureResult
        }
    }

    /// Connects to a host with these answers of the resolver.
    private func connect(
        port: Int, version4: [SocketAddress]?, version6: [SocketAddress]?, within limit: Duration = .seconds(60)
    ) async throws {
        var options = ClientOptions(url: try WebSocketURL("ws://two-families.example:\(port)/"))
        options.resolver = { WaysResolver($0, version4, version6) }
        options.connectTimeout = limit
        options.handshakeTimeout = .seconds(60)
        try await NIOConnector.connect(options).abort()
    }

    @Test func `a refused IPv6 or IPv4 address does not prevent the connection`() async throws {
        try await WebSocketServer.echo().withRunning { server in
            let (good, dead) = (try SocketAddress(ipAddress: server.host, port: server.port), try SocketAddress(ipAddress: "::1", port: 1))
            try await connect(port: server.port, version4: [good], version6: [dead])
            try await connect(port: server.port, version4: [dead], version6: [good])
        }
    }

    @Test func `a family without an answer of the name server does not prevent the connection`() async throws {
        try await WebSocketServer.echo().withRunning { server in
            let good = try SocketAddress(ipAddress: server.host, port: server.port)
            try await connect(port: server.port, version4: [good], version6: nil)
            try await connect(port: server.port, version4: nil, version6: [good])
        }
    }

    @Test func `a name server that never answers is limited by the connect timeout`() async {
        let error = await #expect(throws: TransportError.self) {
            try await connect(port: 1, version4: nil, version6: nil, within: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
    }

    #if canImport(Glibc)
        @Test func `a family whose packets are lost does not prevent the connection`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let good = try SocketAddress(ipAddress: server.host, port: server.port)
                let hole = try WaysBlackHole()
                let dead = try SocketAddress(ipAddress: "127.0.0.1", port: hole.port)
                let error = await #expect(throws: TransportError.self) {
                    try await connect(port: hole.port, version4: [], version6: [dead], within: .milliseconds(100))
                }
                #expect(error?.code == .timedOut)
                try await connect(port: server.port, version4: [good], version6: [dead])
                withExtendedLifetime(hole) {}
            }
        }
    #endif
}

#if canImport(Glibc)
    /// A port that answers no SYN because its queue of waiting connections is full.
    private final class WaysBlackHole {
        private let listener: Int32
        private var waiting: [Int32] = []
        let port: Int

        init() throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            self.listener = listener
            let anyPort = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
            let isListening = anyPort.withSockAddr { bind(listener, $0, socklen_t($1)) } == 0 && listen(listener, 0) == 0
            var name = [UInt8](repeating: 0, count: 128)
            var length = socklen_t(name.count)
            let hasName = name.withUnsafeMutableBytes { name in
                name.withMemoryRebound(to: sockaddr.self) { getsockname(listener, $0.baseAddress, &length) == 0 }
            }
            // The port follows the family, in network byte order.
            port = Int(name[2]) << 8 | Int(name[3])
            try #require(isListening && hasName)
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
            for _ in 0..<4 {
                let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
                waiting.append(client)
                _ = address.withSockAddr { Glibc.connect(client, $0, socklen_t($1)) }
            }
        }

        deinit { for socket in waiting + [listener] { close(socket) } }
    }
#endif
