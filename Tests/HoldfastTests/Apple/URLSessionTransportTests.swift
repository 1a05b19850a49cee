import Holdfast
import HoldfastTesting
import Testing
import WebSocketApple

/// What `URLSessionWebSocketTask` does that no other WebSocket does.
@Suite(.timeLimit(.minutes(1))) struct URLSessionTransportTests {
    private let socket = ScriptedSocket()
    private let clock = ManualClock()
    private let lost = SystemFailure.standInLost

    /// An open transport, and what was asked of the system since.
    private func open(
        _ configure: (inout SystemSettings) -> Void = { _ in }
    ) async throws -> (URLSessionTransport, AsyncStream<ScriptedSocket.Asked>.AsyncIterator) {
        var settings = SystemSettings()
        settings.pingInterval = nil
        configure(&settings)
        let transport = try await opening(settings) { $0.notify(.opened(Agreement(response: ResponseHead(status: 101)))) }
        return (transport, socket.asked.makeAsyncIterator())
    }

    private func opening(
        _ settings: SystemSettings = SystemSettings(), _ act: @escaping @Sendable (ScriptedSocket) -> Void
    ) async throws(TransportError) -> URLSessionTransport {
        let (clock, socket) = (clock, socket)
        async let transport = { () async throws(TransportError) in
            try await URLSessionTransport.open(socket, settings, clock: clock)
        }()
        _ = await clock.nextSleep()
        act(socket)
        do { return try await transport } catch { throw error as? TransportError ?? TransportError(.lost, "\(error)") }
    }

    /// How it ends; at the latest with the time of the test.
    private func end(of transport: URLSessionTransport) async -> Result<CloseRecord, TransportError> {
        await withTaskCancellationHandler {
            await transport.ended()
        } onCancel: {
            transport.abort()
        }
    }

    @Test func `the system is asked for the next message after each`() async throws {
        var (transport, asked) = try await open()
        for number in 0..<3 {
            #expect(await asked.next() == .receive)
            socket.give(.success(.text("\(number)")))
            #expect(try await transport.message() == .text("\(number)"))
        }
        #expect(await asked.next() == .receive)
    }

    @Test func `it is asked for no more while the app does not keep up`() async throws {
        var (transport, asked) = try await open { $0.receiveBuffer = 1 }
        #expect(await asked.next() == .receive)
        socket.give(.success(.text("long")))
        try await transport.send(.text("a mark in the order"))
        #expect(await asked.next() == .send(.text("a mark in the order")))
        #expect(try await transport.message() == .text("long"))
        #expect(await asked.next() == .receive)
    }

    @Test func `a ping that the system calls back for twice is answered once`() async throws {
        var (transport, asked) = try await open()
        #expect(await asked.next() == .receive)
        async let trip = transport.ping(timeout: .seconds(5))
        #expect(await asked.next() == .ping)
        clock.advance(by: .milliseconds(30))
        socket.pong()
        socket.pong()
        #expect(try await trip == .milliseconds(30))
        // Nor does another call for it, however late, count for the next ping.
        async let next = transport.ping(timeout: .seconds(5))
        #expect(await asked.next() == .ping)
        socket.pong(of: 0)
        try await transport.send(.text("a mark in the order"))
        #expect(await asked.next() == .send(.text("a mark in the order")))
        clock.advance(by: .milliseconds(20))
        socket.pong()
        #expect(try await next == .milliseconds(20))
    }

    @Test func `a ping that the system never calls back for ends at its deadline`() async throws {
        var (transport, asked) = try await open()
        #expect(await asked.next() == .receive)
        async let trip = failure { _ = try await transport.ping(timeout: .seconds(5)) }
        #expect(await asked.next() == .ping)
        while !Task.isCancelled, await clock.nextSleep() != .seconds(5) {}
        clock.advance(by: .seconds(5))
        #expect(await trip == .timedOut)
        #expect(transport.closeRecord == nil)
    }

    @Test func `a ping that fails is no sign of life`() async throws {
        var (transport, asked) = try await open { $0.pingTimeout = .seconds(7) }
        #expect(await asked.next() == .receive)
        transport.probe()
        #expect(await asked.next() == .ping)
        socket.pong(lost)
        while !Task.isCancelled, await clock.nextSleep() != .seconds(7) {}
        clock.advance(by: .seconds(7))
        #expect(await end(of: transport).failureCode == .unresponsive)
    }

    @Test(arguments: [1000, 1012, 3000, 4000, 4321, 4999])
    func `close codes travel as numbers, whether the system has a name for them or not`(code: Int) async throws {
        var (transport, asked) = try await open()
        #expect(await asked.next() == .receive)
        async let record = transport.close(CloseFrame(CloseCode(rawValue: UInt16(code)), reason: "done"))
        #expect(await asked.next() == .close(code, "done"))
        socket.notify(.closed(code: code, reason: Array("bye".utf8)))
        socket.give(.failure(lost))
        let told = await record
        #expect(told.received == CloseFrame(CloseCode(rawValue: UInt16(code)), reason: "bye") && told.isClean)
        #expect(told.closedFirst == .local)
    }

    @Test(arguments: [0, 1005, 1006, -1, 70_000])
    func `a number that cannot travel stands for a close frame without a code`(code: Int) async throws {
        var (transport, asked) = try await open()
        #expect(await asked.next() == .receive)
        socket.notify(.closed(code: code, reason: []))
        socket.give(.failure(lost))
        #expect(try await end(of: transport).get().received == CloseFrame())
    }

    @Test(arguments: [true, false])
    func `the close frame and the end of reading may come in any order`(isFrameFirst: Bool) async throws {
        var (transport, asked) = try await open()
        #expect(await asked.next() == .receive)
        if isFrameFirst { socket.notify(.closed(code: 4001, reason: [])) }
        socket.give(.failure(lost))
        if !isFrameFirst { socket.notify(.closed(code: 4001, reason: [])) }
        _ = await end(of: transport)
        #expect(transport.closeRecord?.received?.code?.rawValue == 4001 && transport.closeRecord?.closedFirst == .remote)
        // The system answers a close frame by itself.
        #expect(await asked.next() == .abort)
    }

    @Test func `what the system still holds when the close frame is told is read first`() async throws {
        var (transport, asked) = try await open()
        #expect(await asked.next() == .receive)
        socket.notify(.closed(code: 1000, reason: []))
        socket.give(.success(.text("last")))
        #expect(await asked.next() == .receive)
        socket.give(.failure(lost))
        #expect(try await transport.message() == .text("last"))
        #expect(try await transport.message() == nil)
    }

    @Test(arguments: [true, false])
    func `half an end is a whole one after a moment`(isReading: Bool) async throws {
        var (transport, asked) = try await open()
        #expect(await asked.next() == .receive)
        if isReading { socket.give(.failure(lost)) } else { socket.notify(.ended(nil)) }
        while !Task.isCancelled, await clock.nextSleep() != .seconds(1) {}
        clock.advance(by: .seconds(1))
        #expect(await end(of: transport).failureCode == .lost)
    }

    @Test func `a message that is too big for the system ends the connection with 1009`() async throws {
        var (transport, asked) = try await open { $0.messageLimit = 100 }
        #expect(await asked.next() == .receive)
        socket.give(.failure(SystemFailure(domain: "NSPOSIXErrorDomain", code: 40, detail: "Message too long")))
        guard case .close(1009, _)? = await asked.next() else { throw CancellationError() }
        #expect(await end(of: transport).failureCode == .protocolViolation)
    }

    @Test func `and so does one that the system let through`() async throws {
        var (transport, asked) = try await open { $0.messageLimit = 100 }
        #expect(await asked.next() == .receive)
        socket.give(.success(.binary(Array(repeating: 0, count: 101))))
        guard case .close(1009, _)? = await asked.next() else { throw CancellationError() }
        #expect(await end(of: transport).failureCode == .protocolViolation)
    }

    @Test func `a message in pieces is gathered, and one that is too large for that is given up`() async throws {
        var (transport, asked) = try await open { $0.messageLimit = 100 }
        #expect(await asked.next() == .receive)
        let ticket = try await transport.beginMessage()
        for isLast in [false, true] {
            try await transport.send(MessageChunk(kind: .binary, bytes: Array(repeating: 1, count: 50), isLast: isLast), of: ticket)
        }
        #expect(await asked.next() == .send(.binary(Array(repeating: 1, count: 100))))
        let large = try await transport.beginMessage()
        try await transport.send(MessageChunk(kind: .binary, bytes: Array(repeating: 1, count: 101), isLast: false), of: large)
        guard case .close(1011, _)? = await asked.next() else { throw CancellationError() }
        #expect(await end(of: transport).failureCode == .tooLarge)
    }

    @Test func `text in pieces that is not UTF-8 is given up`() async throws {
        var (transport, asked) = try await open()
        #expect(await asked.next() == .receive)
        let ticket = try await transport.beginMessage()
        // The middle of a character may be where a piece ends.
        for (bytes, isLast) in [([0x61, 0xC3], false), ([0xA9], true)] as [([UInt8], Bool)] {
            try await transport.send(MessageChunk(kind: .text, bytes: bytes, isLast: isLast), of: ticket)
        }
        #expect(await asked.next() == .send(.text("aé")))
        let broken = try await transport.beginMessage()
        for (bytes, isLast) in [([0x61, 0xC3], false), ([0x61], true)] as [([UInt8], Bool)] {
            try await transport.send(MessageChunk(kind: .text, bytes: bytes, isLast: isLast), of: broken)
        }
        guard case .close(1011, _)? = await asked.next() else { throw CancellationError() }
        #expect(await end(of: transport).failureCode == .codec)
    }

    @Test func `what was asked for between the pieces is told when the whole message has left`() async throws {
        var (transport, asked) = try await open()
        #expect(await asked.next() == .receive)
        let ticket = try await transport.beginMessage()
        let (told, notify) = AsyncStream.makeStream(of: String.self)
        try await transport.send(MessageChunk(kind: .text, bytes: [0x61], isLast: false), of: ticket)
        transport.whenWritten { notify.yield("written \($0)") }
        // A step of the link later nothing has been told.
        transport.probe()
        #expect(await asked.next() == .ping)
        notify.yield("the last piece")
        try await transport.send(MessageChunk(kind: .text, bytes: [0x62], isLast: true), of: ticket)
        #expect(await asked.next() == .send(.text("ab")))
        var answers = told.makeAsyncIterator()
        #expect(await answers.next() == "the last piece")
        #expect(await answers.next() == "written true")
    }

    @Test func `a refusal tells the status and the headers`() async throws {
        var refusal = SystemFailure(domain: "NSURLErrorDomain", code: -1011, detail: "bad response")
        refusal.response = ResponseHead(status: 503, headers: ["Retry-After": "7"])
        let failure = await opened { [refusal] in $0.notify(.ended(refusal)) }
        #expect(failure?.code == .refused && failure?.response?.status == 503 && failure?.response?.headers["Retry-After"] == "7")
    }

    @Test func `our own verdict on a server is what the app is told`() async throws {
        var refusal = SystemFailure(domain: "NSURLErrorDomain", code: -999, detail: "cancelled")
        refusal.verdict = TransportError(.tls, "no pin matches")
        let failure = await opened { [refusal] in $0.notify(.ended(refusal)) }
        #expect(failure?.code == .tls && failure?.detail == "no pin matches")
    }

    @Test(arguments: [
        (-1003, TransportError.Code.unresolved), (-1004, .unreachable), (-1009, .unreachable), (-1001, .timedOut),
        (-1022, .invalidConfiguration), (-1011, .invalidHandshake), (-1200, .tls), (-1202, .tls), (-1201, .certificateExpired),
        (-1204, .certificateExpired), (-1203, .unknownAuthority), (-1205, .clientCertificateRefused), (-1206, .clientCertificateWanted),
    ])
    func `the numbers of the system become words`(number: Int, code: TransportError.Code) async throws {
        let failure = await opened { $0.notify(.ended(SystemFailure(domain: "NSURLErrorDomain", code: number, detail: "no"))) }
        #expect(failure?.code == code)
        #expect(failure?.detail == "no (NSURLErrorDomain \(number))")
    }

    @Test func `an attempt that comes to nothing is given up at its deadline, and dropped`() async throws {
        let clock = clock
        var settings = SystemSettings()
        settings.openTimeout = .seconds(3)
        let failure = await opened(settings) { _ in clock.advance(by: .seconds(3)) }
        #expect(failure?.code == .timedOut)
        var asked = socket.asked.makeAsyncIterator()
        #expect(await asked.next() == .abort)
    }

    /// Why it could not be opened.
    private func opened(
        _ settings: SystemSettings = SystemSettings(), _ act: @escaping @Sendable (ScriptedSocket) -> Void
    ) async -> TransportError? {
        do throws(TransportError) {
            _ = try await opening(settings, act)
            return nil
        } catch { return error }
    }
}
