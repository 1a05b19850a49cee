import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

/// What a transport says of how far its socket has come.
@Suite(.timeLimit(.minutes(2))) struct TransportWrittenTests {
    @Test(arguments: TransportKind.allCases)
    func `what the socket took is told, message by message`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            for number in 0..<200 {
                try await client.send(.text("\(number)"))
                #expect(await client.written())
                #expect(try await server.message() == .text("\(number)"))
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `with nothing to write all is written`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            #expect(await client.written())
            #expect(await server.written())
        }
    }

    @Test(arguments: TransportKind.uncompressed)
    func `nothing is written before the socket has every byte`(_ kind: TransportKind) async throws {
        try await kind.withLink(Self.large) { client, server, link in
            link.stall()
            try await client.send(Self.flood)
            let isMoving = LockedValue(false)
            let (told, notify) = AsyncStream.makeStream(of: Bool.self)
            client.whenWritten { isWritten in notify.yield(isWritten && isMoving.withLockedValue(\.self)) }
            // Time for what must not happen. A ping would not do: it may have to wait for the frame, and no time runs for it until then.
            try await Task.sleep(for: .milliseconds(300))
            isMoving.withLockedValue { $0 = true }
            link.resume()
            let isWhole = try await server.message() == Self.flood
            #expect(isWhole)
            var answers = told.makeAsyncIterator()
            #expect(await answers.next() == true)
        }
    }

    @Test(arguments: TransportKind.uncompressed)
    func `what the socket did not take before the link was cut is not written`(_ kind: TransportKind) async throws {
        try await kind.withLink(Self.large) { client, _, link in
            link.stall()
            try await client.send(Self.flood)
            let (told, notify) = AsyncStream.makeStream(of: Bool.self)
            for _ in 1...2 { client.whenWritten { notify.yield($0) } }
            link.cut()
            _ = await client.ended()
            var answers = told.makeAsyncIterator()
            for _ in 1...2 { #expect(await answers.next() == false) }
            #expect(await !client.written(), "nor is anything after the end")
        }
    }

    /// More than the system's sockets hold.
    static let flood: Message = {
        var flood: [UInt8] = []
        for number in 0..<512 { if case .binary(let bytes) = block(number) { flood += bytes } }
        return .binary(flood)
    }()

    private static var large: WebSocketConfiguration {
        var configuration = WebSocketConfiguration()
        configuration.limits.message = 1 << 26
        // A machine that is busy with so many bytes is not dead.
        (configuration.timeouts.pingInterval, configuration.timeouts.stall) = (.seconds(3600), .seconds(3600))
        return configuration
    }

    @Test(arguments: TransportKind.allCases)
    func `what was sent before a close is told to be written`(_ kind: TransportKind) async throws {
        try await kind.withPair { client, server in
            try await client.send(block(1))
            let (told, notify) = AsyncStream.makeStream(of: Bool.self)
            client.whenWritten { notify.yield($0) }
            #expect(await client.close(CloseFrame(.normal)).isClean)
            var answers = told.makeAsyncIterator()
            #expect(await answers.next() == true)
            #expect(try await server.message() == block(1))
        }
    }

    @Test(arguments: TransportKind.streaming)
    func `asking between the pieces of a message does not disturb it`(_ kind: TransportKind) async throws {
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
    func `an answer on the event loop is told like any other`(_ kind: TransportKind) async throws {
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

    /// In memory a link that is asked so often must not take that for messages, or for life.
    @Test func `who asks of a peer that does not read is not kept waiting for that`() async throws {
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

    @Test func `a transport that does not tell never says that anything is written`() async throws {
        let mute = MuteTransport()
        let written = Task { await mute.written() }
        mute.abort()
        #expect(await !written.value)
    }
}

extension MessageTransport {
    /// Waits until the socket has all that was accepted so far.
    func written() async -> Bool { await withCheckedContinuation { waiter in whenWritten { waiter.resume(returning: $0) } } }
}

/// A transport that leaves to the seam what it may.
private final class MuteTransport: MessageTransport {
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
