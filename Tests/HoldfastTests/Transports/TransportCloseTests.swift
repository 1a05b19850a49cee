import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct TransportCloseTests {
    @Test(arguments: TransportKind.allCases)
    func `both ends know both codes and the side that closed first`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            #expect(client.closeRecord == nil && server.closeRecord == nil)
            let sent = CloseFrame(CloseCode(rawValue: 4001), reason: "done")
            let record = await client.close(sent)
            #expect(record.sent == sent && record.received?.code == sent.code && record.closedFirst == .local && record.isClean)
            #expect(client.closeRecord == record)
            guard case .failure(let error) = await server.ended(), let remote = server.closeRecord else { throw CancellationError() }
            #expect(error.code == .closed && error.record == remote)
            #expect(remote.received == sent && remote.sent?.code == sent.code && remote.closedFirst == .remote && remote.isClean)
            // The closing side asked for the end; for the other side this code is a failure.
            #expect(try await client.receive() == nil)
            #expect(await failure { _ = try await server.receive() } == .closed)
        }
    }

    @Test(arguments: TransportKind.allCases, [CloseFrame(.normal), CloseFrame(.goingAway), CloseFrame()])
    func `a clean end is no error on either side`(_ kind: TransportKind, _ frame: CloseFrame) async throws {
        try await kind.withPair { client, server in
            let record = await server.close(frame)
            #expect(record.isClean && record.closedFirst == .local)
            guard case .success(let clientRecord) = await client.ended() else { throw CancellationError() }
            #expect(clientRecord.received == frame && clientRecord.closedFirst == .remote)
            #expect(try await client.receive() == nil)
            #expect(try await server.receive() == nil)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `messages accepted for sending leave before the close frame`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            for number in 0..<4 { try await client.send(block(number)) }
            let closing = Task { await client.close(CloseFrame(.normal)) }
            for number in 0..<4 { #expect(try await server.message() == block(number)) }
            #expect(try await server.message() == nil)
            #expect(await closing.value.isClean)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `messages received before the end can be read after it`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            for number in 0..<3 { try await server.send(.text("\(number)")) }
            _ = await server.close(CloseFrame(.normal))
            _ = await client.ended()
            for number in 0..<3 { #expect(try await client.message() == .text("\(number)")) }
            #expect(try await client.message() == nil)
            #expect(try await client.message() == nil)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `after a close sends fail at once`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            _ = await client.close(CloseFrame(.normal))
            #expect(await failure { try await client.send(.text("late")) } == .closed)
            #expect(await failure { _ = try client.offer(.text("late")) } == .closed)
            #expect(await failure { _ = try await client.beginMessage() } == .closed)
            #expect(await client.close(CloseFrame(.goingAway)).sent?.code == .normal, "the first close counts")
            let received = try await server.receive()
            #expect(received == nil)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `both ends may close at the same time`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            async let near = client.close(CloseFrame(CloseCode(rawValue: 4001)))
            async let far = server.close(CloseFrame(CloseCode(rawValue: 4002)))
            let records = await (near, far)
            for record in [records.0, records.1] { #expect(record.isClean && record.sent != nil && record.received != nil) }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a close without an answer ends at the close timeout`(_ kind: TransportKind) async throws {
        var configuration = WebSocketConfiguration()
        configuration.timeouts.close = .milliseconds(200)
        try await kind.withLink(configuration) { client, server, link in
            link.stall()
            let record = await client.close(CloseFrame(.normal))
            #expect(!record.isClean && record.received == nil && record.closedFirst == .local)
            guard case .failure(let error) = await client.ended() else { throw CancellationError() }
            #expect(error.code == .lost && error.record == record)
            #expect(server.closeRecord == nil, "the other end does not know of the close")
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a cancelled close drops the link at once`(_ kind: TransportKind) async throws {
        try await kind.withLink { client, server, link in
            link.stall()
            let closing = Task { await client.close(CloseFrame(.normal)) }
            closing.cancel()
            #expect(await !closing.value.isClean)
            link.cut()
            guard case .failure(let error) = await server.ended() else { throw CancellationError() }
            #expect(error.code == .lost)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a message abandoned half-way ends the connection with 1011`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            let ticket = try await client.beginMessage()
            let others = Task {
                await withTaskGroup(of: TransportError.Code?.self) { group in
                    for _ in 0..<10 { group.addTask { await failure { try await client.send(.text("other")) } } }
                    return await group.reduce(into: []) { $0.append($1) }
                }
            }
            try await client.send(MessageChunk(kind: .text, bytes: Array("half".utf8), isLast: false), of: ticket)
            client.abandon(ticket)
            guard case .failure(let error) = await server.ended() else { throw CancellationError() }
            #expect(error.code == .closed && error.record?.received?.code == .internalError, "\(error)")
            #expect(await others.value.allSatisfy { $0 == .closed })
            #expect(await failure { _ = try await server.receive() } == .closed)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a message abandoned before its first piece has no effect`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            client.abandon(try await client.beginMessage())
            try await client.send(.text("next"))
            #expect(try await server.message() == .text("next"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `all waiting callers get the same end`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            try await withThrowingTaskGroup(of: CloseRecord.self) { group in
                for _ in 0..<5 { group.addTask { try await client.ended().get() } }
                for _ in 0..<5 { group.addTask { await client.close(CloseFrame(.normal)) } }
                var records: Set<CloseRecord> = []
                for try await record in group { records.insert(record) }
                #expect(records.count == 1)
                #expect(client.closeRecord == records.first)
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `the close record is set when a receive returns because of the end`(_ kind: TransportKind) async throws {
        for _ in 0..<50 {
            try await kind.withPair { client, server in
                let receiving = Task {
                    _ = try await client.receive()
                    return client.closeRecord
                }
                _ = await server.close(CloseFrame(.normal))
                let record = try await receiving.value
                #expect(record?.isClean == true)
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `an abort drops the link at once`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            client.abort()
            for end in [client, server] {
                guard case .failure(let error) = await end.ended() else { throw CancellationError() }
                #expect(error.code == .lost && error.record?.isClean == false && error.record?.code == .abnormal)
                #expect(await failure { _ = try await end.receive() } == .lost)
                #expect(await failure { try await end.send(.text("late")) } == .lost)
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `every waiting call ends when the link is lost`(_ kind: TransportKind) async throws {
        var configuration = WebSocketConfiguration()
        // A transport that collects a message before it is sent gives up at this size.
        configuration.limits.message = 1 << 28
        try await kind.withLink(configuration) { client, server, link in
            link.stall()
            let codes = await withTaskGroup(of: TransportError.Code?.self) { group in
                let ticket = try? await client.beginMessage()
                for _ in 0..<4 {
                    group.addTask { await failure { _ = try await client.receive() } }
                    group.addTask { await failure { try await client.send(.text("waits for the message in pieces")) } }
                    group.addTask { await failure { _ = try await client.beginMessage() } }
                    group.addTask { await failure { _ = try await client.ping(timeout: .seconds(3600)) } }
                    group.addTask { await failure { _ = try await client.ended().get() } }
                }
                if let ticket {
                    group.addTask {
                        guard case .binary(let bytes) = block(0) else { return nil }
                        return await failure {
                            for _ in 0..<2000 {
                                try await client.send(MessageChunk(kind: .binary, bytes: bytes, isLast: false), of: ticket)
                            }
                            // A transport that collects a message before it is sent may have accepted all of it.
                            _ = try await client.ended().get()
                        }
                    }
                }
                link.cut()
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.count == 21 && codes.allSatisfy { $0 == .lost }, "\(codes)")
        }
    }
}
