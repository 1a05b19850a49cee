import HoldfastTesting
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(1))) struct FaultyLinkTests: EchoBehindLink {
    @Test(arguments: [Duration.zero, .milliseconds(2)])
    func `4 MiB pass unchanged through the link, with and without latency`(_ latency: Duration) async throws {
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

    @Test func `a cut breaks open connections, and new connections are accepted`() async throws {
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

    @Test func `a stalled link continues where it stopped`() async throws {
        try await withLink { link in
            let connection = try await connect(to: link)
            link.stall()
            async let received = echo(connection, ByteBuffer(string: "patience"))
            link.resume()
            #expect(try await received == ByteBuffer(string: "patience"))
        }
    }

    @Test func `a link that is cut while stalled breaks its connections`() async throws {
        try await withLink { link in
            let connection = try await connect(to: link)
            try await connection.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: "hello"))
                var iterator = inbound.makeAsyncIterator()
                #expect(try await iterator.next() == ByteBuffer(string: "hello"))
                link.stall()
                try await outbound.write(ByteBuffer(string: "lost"))
                link.cut()
                // The connection ends or is reset, depending on what was in flight.
                let end = try? await iterator.next()
                #expect(end == nil)
            }
            link.resume()
            #expect(try await echo(connect(to: link), ByteBuffer(string: "again")) == ByteBuffer(string: "again"))
        }
    }

    @Test func `a refusing link closes new connections`() async throws {
        try await withLink { link in
            link.refuse()
            let connection = try? await connect(to: link)
            try? await connection?.executeThenClose { inbound, _ in
                for try await _ in inbound { Issue.record("a refused connection received bytes") }
            }
            link.welcome()
            let received = try await echo(connect(to: link), ByteBuffer(string: "hello"))
            #expect(received == ByteBuffer(string: "hello"))
            #expect(link.accepted == 2)
        }
    }
}
