import Holdfast
import HoldfastTesting
import Testing
import WebSocketApple

/// The behaviour that is specific to `URLSessionWebSocketTask`.
@Suite(.timeLimit(.minutes(1))) struct URLSessionTransportTests {
    private let socket = ScriptedSocket()
    private let clock = ManualClock()
    private let lost = SystemFailure.standInLost

    /// Opens a transport; returns it with the calls that it makes to the system's socket from then on.
    private func open(
        _ configure: (inout SystemSettings) -> Void = { _ in }
    ) async throws -> (URLSessionTransport, AsyncStream<ScriptedSocket.Call>.AsyncIterator) {
        var settings = SystemSettings()
        settings.pingInterval = nil
        configure(&settings)
        let transport = try await opening(settings) { $0.notify(.opened(Agreement(response: ResponseHead(status: 101)))) }
        return (transport, socket.calls.makeAsyncIterator())
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

    /// Waits for the end of the transport; cancellation aborts it.
    private func end(of transport: URLSessionTransport) async -> Result<CloseRecord, TransportError> {
        await withTaskCancellationHandler {
            await transport.ended()
        } onCancel: {
            transport.abort()
        }
    }

    @Test func `the transport requests the next message after each one`() async throws {
        var (transport, calls) = try await open()
        for number in 0..<3 {
            #expect(await calls.next() == .receive)
            socket.deliver(.success(.text("\(number)")))
            #expect(try await transport.message() == .text("\(number)"))
        }
        #expect(await calls.next() == .receive)
    }

    @Test func `the transport requests no more while the app does not keep up`() async throws {
        var (transport, calls) = try await open { $0.receiveBuffer = 1 }
        #expect(await calls.next() == .receive)
        socket.deliver(.success(.text("long")))
        try await transport.send(.text("a mark in the order"))
        #expect(await calls.next() == .send(.text("a mark in the order")))
        #expect(try await transport.message() == .text("long"))
        #expect(await calls.next() == .receive)
    }

    @Test func `a ping that the system completes twice is answered once`() async throws {
        var (transport, calls) = try await open()
        #expect(await calls.next() == .receive)
        async let roundTrip = transport.ping(timeout: .seconds(5))
        #expect(await calls.next() == .ping)
        clock.advance(by: .milliseconds(30))
        socket.pong()
        socket.pong()
        #expect(try await roundTrip == .milliseconds(30))
        // A late second completion of the first ping does not complete the next ping either.
        async let next = transport.ping(timeout: .seconds(5))
        #expect(await calls.next() == .ping)
        socket.pong(of: 0)
        try await transport.send(.text("a mark in the order"))
        #expect(await calls.next() == .send(.text("a mark in the order")))
        clock.advance(by: .milliseconds(20))
        socket.pong()
        #expect(try await next == .milliseconds(20))
    }

    @Test func `a ping that the system never completes ends at its deadline`() async throws {
        var (transport, calls) = try await open()
        #expect(await calls.next() == .receive)
        async let roundTrip = failure { _ = try await transport.ping(timeout: .seconds(5)) }
        #expect(await calls.next() == .ping)
        while !Task.isCancelled, await clock.nextSleep() != .seconds(5) {}
        clock.advance(by: .seconds(5))
        #expect(await roundTrip == .timedOut)
        #expect(transport.closeRecord == nil)
    }

    @Test func `a failed ping does not count as a sign of life`() async throws {
        var (transport, calls) = try await open { $0.pingTimeout = .seconds(7) }
        #expect(await calls.next() == .receive)
        transport.probe()
        #expect(await calls.next() == .ping)
        socket.pong(lost)
        while !Task.isCancelled, await clock.nextSleep() != .seconds(7) {}
        clock.advance(by: .seconds(7))
        #expect(await end(of: transport).failureCode == .unresponsive)
    }

    @Test(arguments: [1000, 1012, 3000, 4000, 4321, 4999])
    func `close codes are passed as numbers, even if the system has no name for them`(code: Int) async throws {
        var (transport, calls) = try await open()
        #expect(await calls.next() == .receive)
        async let record = transport.close(CloseFrame(CloseCode(rawValue: UInt16(code)), reason: "done"))
        #expect(await calls.next() == .close(code, "done"))
        socket.notify(.closed(code: code, reason: Array("bye".utf8)))
        socket.deliver(.failure(lost))
        let closeRecord = await record
        #expect(closeRecord.received == CloseFrame(CloseCode(rawValue: UInt16(code)), reason: "bye") && closeRecord.isClean)
        #expect(closeRecord.closedFirst == .local)
    }

    @Test(arguments: [0, 1005, 1006, -1, 70_000])
    func `an invalid close code from the system becomes a close frame without a code`(code: Int) async throws {
        var (transport, calls) = try await open()
        #expect(await calls.next() == .receive)
        socket.notify(.closed(code: code, reason: []))
        socket.deliver(.failure(lost))
        #expect(try await end(of: transport).get().received == CloseFrame())
    }

    @Test(arguments: [true, false])
    func `the close frame and the end of reading may come in any order`(isFrameFirst: Bool) async throws {
        var (transport, calls) = try await open()
        #expect(await calls.next() == .receive)
        if isFrameFirst { socket.notify(.closed(code: 4001, reason: [])) }
        socket.deliver(.failure(lost))
        if !isFrameFirst { socket.notify(.closed(code: 4001, reason: [])) }
        _ = await end(of: transport)
        #expect(transport.closeRecord?.received?.code?.rawValue == 4001 && transport.closeRecord?.closedFirst == .remote)
        // The system itself answers a close frame.
        #expect(await calls.next() == .abort)
    }

    @Test func `messages that the system holds when it reports the close frame are read first`() async throws {
        var (transport, calls) = try await open()
        #expect(await calls.next() == .receive)
        socket.notify(.closed(code: 1000, reason: []))
        socket.deliver(.success(.text("last")))
        #expect(await calls.next() == .receive)
        socket.deliver(.failure(lost))
        #expect(try await transport.message() == .text("last"))
        #expect(try await transport.message() == nil)
    }

    @Test(arguments: [true, false])
    func `a transport ends one second after the system reports only one of its two end signals`(isReading: Bool) async throws {
        var (transport, calls) = try await open()
        #expect(await calls.next() == .receive)
        if isReading { socket.deliver(.failure(lost)) } else { socket.notify(.ended(nil)) }
        while !Task.isCancelled, await clock.nextSleep() != .seconds(1) {}
        clock.advance(by: .seconds(1))
        #expect(await end(of: transport).failureCode == .lost)
    }

    @Test func `a message that is too big for the system ends the connection with 1009`() async throws {
        var (transport, calls) = try await open { $0.messageLimit = 100 }
        #expect(await calls.next() == .receive)
        socket.deliver(.failure(SystemFailure(domain: "NSPOSIXErrorDomain", code: 40, detail: "Message too long")))
        guard case .close(1009, _)? = await calls.next() else { throw CancellationError() }
        #expect(await end(of: transport).failureCode == .protocolViolation)
    }

    @Test func `a message above the limit that the system let through also ends the connection with 1009`() async throws {
        var (transport, calls) = try await open { $0.messageLimit = 100 }
        #expect(await calls.next() == .receive)
        socket.deliver(.success(.binary(Array(repeating: 0, count: 101))))
        guard case .close(1009, _)? = await calls.next() else { throw CancellationError() }
        #expect(await end(of: transport).failureCode == .protocolViolation)
    }

    @Test func `a message in pieces is collected and sent whole, and one above the limit closes with 1011`() async throws {
        var (transport, calls) = try await open { $0.messageLimit = 100 }
        #expect(await calls.next() == .receive)
        let ticket = try await transport.beginMessage()
        for isLast in [false, true] {
            try await transport.send(MessageChunk(kind: .binary, bytes: Array(repeating: 1, count: 50), isLast: isLast), of: ticket)
        }
        #expect(await calls.next() == .send(.binary(Array(repeating: 1, count: 100))))
        let large = try await transport.beginMessage()
        try await transport.send(MessageChunk(kind: .binary, bytes: Array(repeating: 1, count: 101), isLast: false), of: large)
        guard case .close(1011, _)? = await calls.next() else { throw CancellationError() }
        #expect(await end(of: transport).failureCode == .tooLarge)
    }

    @Test func `text in pieces that is not UTF-8 closes with 1011`() async throws {
        var (transport, calls) = try await open()
        #expect(await calls.next() == .receive)
        let ticket = try await transport.beginMessage()
        // A piece may end in the middle of a character.
        for (bytes, isLast) in [([0x61, 0xC3], false), ([0xA9], true)] as [([UInt8], Bool)] {
            try await transport.send(MessageChunk(kind: .text, bytes: bytes, isLast: isLast), of: ticket)
        }
        #expect(await calls.next() == .send(.text("aé")))
        let broken = try await transport.beginMessage()
        for (bytes, isLast) in [([0x61, 0xC3], false), ([0x61], true)] as [([UInt8], Bool)] {
            try await transport.send(MessageChunk(kind: .text, bytes: bytes, isLast: isLast), of: broken)
        }
        guard case .close(1011, _)? = await calls.next() else { throw CancellationError() }
        #expect(await end(of: transport).failureCode == .codec)
    }

    @Test func `a request between the pieces for a written report is answered when the whole message has left`() async throws {
        var (transport, calls) = try await open()
        #expect(await calls.next() == .receive)
        let ticket = try await transport.beginMessage()
        let (reports, notify) = AsyncStream.makeStream(of: String.self)
        try await transport.send(MessageChunk(kind: .text, bytes: [0x61], isLast: false), of: ticket)
        transport.whenWritten { notify.yield("written \($0)") }
        // The probe passes through the link after the request, and nothing has been reported by then.
        transport.probe()
        #expect(await calls.next() == .ping)
        notify.yield("the last piece")
        try await transport.send(MessageChunk(kind: .text, bytes: [0x62], isLast: true), of: ticket)
        #expect(await calls.next() == .send(.text("ab")))
        var answers = reports.makeAsyncIterator()
        #expect(await answers.next() == "the last piece")
        #expect(await answers.next() == "written true")
    }

    @Test func `a refusal carries the status and the headers`() async throws {
        var refusal = SystemFailure(domain: "NSURLErrorDomain", code: -1011, detail: "bad response")
        refusal.response = ResponseHead(status: 503, headers: ["Retry-After": "7"])
        let failure = await opened { [refusal] in $0.notify(.ended(refusal)) }
        #expect(failure?.code == .refused && failure?.response?.status == 503 && failure?.response?.headers["Retry-After"] == "7")
    }

    @Test func `the app gets our own verdict on a server`() async throws {
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
    func `error numbers of the system map to error codes`(number: Int, code: TransportError.Code) async throws {
        let failure = await opened { $0.notify(.ended(SystemFailure(domain: "NSURLErrorDomain", code: number, detail: "no"))) }
        #expect(failure?.code == code)
        #expect(failure?.detail == "no (NSURLErrorDomain \(number))")
    }

    @Test func `an attempt that gets no answer ends at its deadline and is aborted`() async throws {
        let clock = clock
        var settings = SystemSettings()
        settings.openTimeout = .seconds(3)
        let failure = await opened(settings) { _ in clock.advance(by: .seconds(3)) }
        #expect(failure?.code == .timedOut)
        var calls = socket.calls.makeAsyncIterator()
        #expect(await calls.next() == .abort)
    }

    /// Opens a transport; returns the error, or nil if it opened.
    private func opened(
        _ settings: SystemSettings = SystemSettings(), _ act: @escaping @Sendable (ScriptedSocket) -> Void
    ) async -> TransportError? {
        do throws(TransportError) {
            _ = try await opening(settings, act)
            return nil
        } catch { return error }
    }
}
