import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

/// Reports of a transport about what its socket has written.
@Suite(.timeLimit(.minutes(2))) struct TransportWrittenTests {
    @Test(arguments: TransportKind.allCases)
    func `each message is reported as written`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            for number in 0..<200 {
                try await client.send(.text("\(number)"))
                #expect(await client.written())
                #expect(try await server.message() == .text("\(number)"))
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `with nothing to write everything is written`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            #expect(await client.written())
            #expect(await server.written())
        }
    }

    @Test(arguments: TransportKind.uncompressed)
    func `a message is not written before the socket has every byte`(_ kind: TransportKind) async throws {
        try await kind.withLink(Self.large) { client, server, link in
            link.stall()
            try await client.send(Self.flood)
            let isMoving = LockedValue(false)
            let (reports, notify) = AsyncStream.makeStream(of: Bool.self)
            client.whenWritten { isWritten in notify.yield(isWritten && isMoving.withLockedValue(\.self)) }
            // An early report would arrive in this time.
            // A ping is no alternative: it may have to wait for the frame, and its time does not run until then.
            try await Task.sleep(for: .milliseconds(300))
            isMoving.withLockedValue { $0 = true }
            link.resume()
            let isWhole = try await server.message() == Self.flood
            #expect(isWhole)
            var answers = reports.makeAsyncIterator()
            #expect(await answers.next() == true)
        }
    }

    @Test(arguments: TransportKind.uncompressed)
    func `a message that the socket did not take before a cut is not written`(_ kind: TransportKind) async throws {
        try await kind.withLink(Self.large) { client, _, link in
            link.stall()
            try await client.send(Self.flood)
            let (reports, notify) = AsyncStream.makeStream(of: Bool.self)
            for _ in 1...2 { client.whenWritten { notify.yield($0) } }
            link.cut()
            _ = await client.ended()
            var answers = reports.makeAsyncIterator()
            for _ in 1...2 { #expect(await answers.next() == false) }
            #expect(await !client.written(), "nothing is written after the end")
        }
    }

    /// A message that exceeds the system's socket buffers.
    static let flood: Message = {
        var flood: [UInt8] = []
        for number in 0..<512 { if case .binary(let bytes) = block(number) { flood += bytes } }
        return .binary(flood)
    }()

    private static var large: WebSocketConfiguration {
        var configuration = WebSocketConfiguration()
        configuration.limits.message = 1 << 26
        // A machine that is busy with so many bytes must not time out.
        (configuration.timeouts.pingInterval, configuration.timeouts.stall) = (.seconds(3600), .seconds(3600))
        return configuration
    }

    @Test(arguments: TransportKind.allCases)
    func `a message sent before a close is reported as written`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            try await client.send(block(1))
            let (reports, notify) = AsyncStream.makeStream(of: Bool.self)
            client.whenWritten { notify.yield($0) }
            #expect(await client.close(CloseFrame(.normal)).isClean)
            var answers = reports.makeAsyncIterator()
            #expect(await answers.next() == true)
            #expect(try await server.message() == block(1))
        }
    }

    @Test(arguments: TransportKind.streaming)
    func `a request for a report between the pieces of a message does not disturb it`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            let ticket = try await client.beginMessage()
            for piece in ["he", "ll", "o"] {
                try await client.send(MessageChunk(kind: .text, bytes: Array(piece.utf8), isLast: piece == "o"), of: ticket)
                #expect(await client.written())
            }
            try await client.send(.text("next"))
            #expect(try await server.message() == .text("hello"))
            #expect(try await server.message() == .text("next"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `an answer sent on the event loop is reported like any other`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            let echo = Task {
                let connection = WebSocketConnection(server)
                await connection.onEventLoop { connection in
                    for _ in 0..<50 {
                        guard case .message(let message)? = try? await server.receive() else { return }
                        #expect((try? server.offer(message)) == true)
                        #expect(await server.written())
                    }
                }
            }
            for number in 0..<50 {
                try await client.send(.text("\(number)"))
                #expect(try await client.message() == .text("\(number)"))
            }
            await echo.value
        }
    }

    /// In memory such requests must not count as messages or as signs of life.
    @Test func `a request for a report does not wait for the peer to read`() async throws {
        let clock = ManualClock()
        var configuration = WebSocketConfiguration()
        configuration.limits.receiveBuffer = 1
        let (client, server) = MemoryTransport.pair(configuration: configuration, clock: clock)
        try await client.send(.text("1"))
        #expect(await client.written())
        client.whenWritten { _ in }
        clock.advance(by: .seconds(15))
        #expect(try await server.message() == .text("1"))
        #expect(client.closeRecord == nil)
    }

    @Test func `a transport without reports never reports a message as written`() async throws {
        let transport = TransportWithoutReports()
        let written = Task { await transport.written() }
        transport.abort()
        #expect(await !written.value)
    }
}

extension MessageTransport {
    /// Waits until the socket has everything that was accepted so far.
    func written() async -> Bool { await withCheckedContinuation { waiter in whenWritten { waiter.resume(returning: $0) } } }
}

/// A transport that uses the protocol's default implementation for reports.
private final class TransportWithoutReports: MessageTransport {
    private let inner = MemoryTransport.pair().client

    var agreement: Agreement { inner.agreement }
    var role: Role { inner.role }
    var closeRecord: CloseRecord? { inner.closeRecord }
    func ended() async -> Result<CloseRecord, TransportError> { await inner.ended() }
    func receive() async throws(TransportError) -> Received? { try await inner.receive() }
    func send(_ message: Message) async throws(TransportError) { try await inner.send(message) }
    func offer(_ message: Message) throws(TransportError) -> Bool { try inner.offer(message) }
    func beginMessage() async throws(TransportError) -> MessageTicket { try await inner.beginMessage() }
    func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError) { try await inner.send(chunk, of: ticket) }
    func abandon(_ ticket: MessageTicket) { inner.abandon(ticket) }
    func ping(timeout: Duration) async throws(TransportError) -> Duration { try await inner.ping(timeout: timeout) }
    func probe() { inner.probe() }
    func setPingInterval(_ interval: Duration?) { inner.setPingInterval(interval) }
    func observe(_ observer: (any LinkObserver)?) { inner.observe(observer) }
    func close(_ frame: CloseFrame) async -> CloseRecord { await inner.close(frame) }
    func abort() { inner.abort() }
}
