import HoldfastTesting
import NIOCore
import NIOPosix
import Testing

@Suite(.timeLimit(.minutes(1))) struct FaultyLinkTests {
    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private static func wrap(_ channel: any Channel) -> EventLoopFuture<Connection> {
        channel.eventLoop.makeCompletedFuture {
            try Connection(wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        }
    }

    /// Runs `body` with a link to a server that sends back what it gets, and says goodbye after the client has.
    private func withLink(_ body: (FaultyLink) async throws -> Void) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(host: "127.0.0.1", port: 0, childChannelInitializer: Self.wrap)
        let port = try #require(listener.channel.localAddress?.port)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await listener.executeThenClose { connections in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await connection in connections {
                            group.addTask {
                                try? await connection.executeThenClose { inbound, outbound in
                                    for try await bytes in inbound { try await outbound.write(bytes) }
                                    outbound.finish()
                                }
                            }
                        }
                    }
                }
            }
            let link = try await FaultyLink.start(to: port)
            try await body(link)
            try await link.stop()
            try await listener.channel.close()
            try? await group.waitForAll()
        }
    }

    private func connect(to link: FaultyLink) async throws -> Connection {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: "127.0.0.1", port: link.port, channelInitializer: Self.wrap)
    }

    /// Sends, and collects what comes back.
    private func echo(_ connection: Connection, _ bytes: ByteBuffer) async throws -> ByteBuffer {
        try await connection.executeThenClose { inbound, outbound in
            async let sent: Void = {
                try await outbound.write(bytes)
                outbound.finish()
            }()
            var received = ByteBuffer()
            for try await var some in inbound { received.writeBuffer(&some) }
            try await sent
            return received
        }
    }

    @Test(arguments: [Duration.zero, .milliseconds(2)])
    func `a great many bytes pass unchanged, to the last, also slowly`(_ latency: Duration) async throws {
        try await withLink { link in
            link.latency = latency
            #expect(link.latency == latency)
            var random = SeededGenerator(seed: 1)
            let some = (0..<1 << 16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let bytes = ByteBuffer(bytes: (0..<64).flatMap { _ in some })
            let received = try await echo(connect(to: link), bytes)
            #expect(received == bytes)
            #expect(link.accepted == 1)
        }
    }

    @Test func `a cut breaks what is open, and new connections are welcome`() async throws {
        try await withLink { link in
            let connection = try await connect(to: link)
            try await connection.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: "hello"))
                var iterator = inbound.makeAsyncIterator()
                #expect(try await iterator.next() == ByteBuffer(string: "hello"))
                link.cut()
                #expect(try await iterator.next() == nil)
            }
            #expect(try await echo(connect(to: link), ByteBuffer(string: "again")) == ByteBuffer(string: "again"))
        }
    }

    @Test func `a stalled link goes on where it stopped`() async throws {
        try await withLink { link in
            let connection = try await connect(to: link)
            link.stall()
            async let received = echo(connection, ByteBuffer(string: "patience"))
            link.resume()
            #expect(try await received == ByteBuffer(string: "patience"))
        }
    }

    @Test func `a link that is cut while stalled is broken`() async throws {
        try await withLink { link in
            let connection = try await connect(to: link)
            try await connection.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: "hello"))
                var iterator = inbound.makeAsyncIterator()
                #expect(try await iterator.next() == ByteBuffer(string: "hello"))
                link.stall()
                try await outbound.write(ByteBuffer(string: "lost"))
                link.cut()
                // An end or a reset, as what was under way has it.
                let end = try? await iterator.next()
                #expect(end == nil)
            }
            link.resume()
            #expect(try await echo(connect(to: link), ByteBuffer(string: "again")) == ByteBuffer(string: "again"))
        }
    }

    @Test func `it hangs up on those it does not welcome`() async throws {
        try await withLink { link in
            link.refuse()
            let connection = try? await connect(to: link)
            try? await connection?.executeThenClose { inbound, _ in
                for try await _ in inbound { Issue.record("it spoke") }
            }
            link.welcome()
            let received = try await echo(connect(to: link), ByteBuffer(string: "hello"))
            #expect(received == ByteBuffer(string: "hello"))
            #expect(link.accepted == 2)
        }
    }
}
